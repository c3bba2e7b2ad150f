"""Records what Azure's own collector package sends when its environment variables point it at us; see `scripts/azure-recording`.

The package runs unmodified, in an environment of its own. One call of two rows is collected, inputs and outputs with the same context.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from server_environments import make_environment

PACKAGES = ["azureml-ai-monitoring==1.0.0", "pandas==3.1.1"]
RECORDED = Path(__file__).resolve().parents[1] / "tests" / "integration" / "gateway" / "azure_recorded.json"
LEFT_OUT = frozenset({"host", "content-length", "connection"})
"""Headers that the replaying client sets by itself."""

SECONDS = 60.0

REQUESTS = 2

PROGRAM = """
import pandas as pd
from azureml.ai.monitoring import Collector
from azureml.ai.monitoring.context import BasicCorrelationContext

inputs, outputs = Collector(name="model_inputs"), Collector(name="model_outputs")
rows = [{"sex": "female", "income": 20000.5, "age": 33}, {"sex": "male", "income": 20000.5, "age": 51}]
context = inputs.collect(pd.DataFrame(rows), BasicCorrelationContext(id="call-1"))
outputs.collect(pd.DataFrame([{"prediction": 0, "probability": 0.1}, {"prediction": 1, "probability": 0.9}]), context)
input()  # it sends in the background, and does not wait for that at its end
"""


def main() -> None:
    """Makes the environment, runs the package in it, and writes what came."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "evenhand-servers"
    parser.add_argument("--cache", type=Path, default=default, help=f"folder of the environment (default: {default})")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    python = make_environment(options.cache / "azure", PACKAGES, sys.executable)
    RECORDED.write_text(json.dumps({"packages": PACKAGES, "requests": record(python)}, indent=1) + "\n", encoding="utf-8")
    print(f"written to {RECORDED}")


def record(python: str) -> list[dict[str, Any]]:
    """Returns the requests of the package, inputs first."""
    found: list[dict[str, Any]] = []
    is_complete = threading.Event()

    class Recorder(BaseHTTPRequestHandler):
        """Answers everything with 200."""

        def do_POST(self) -> None:
            """Keeps one request."""
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            headers = {name: value for name, value in self.headers.items() if name.lower() not in LEFT_OUT}
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            found.append({"path": self.path, "headers": headers, "body": body})
            if len(found) == REQUESTS:
                is_complete.set()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        pointed = {"ENABLED": "true", "HOST": "loans:KEY@127.0.0.1", "PORT": str(server.server_port)}
        environment = os.environ | {f"AZUREML_MDC_{name}": value for name, value in pointed.items()}
        process = subprocess.Popen([python, "-c", PROGRAM], env=environment, stdin=subprocess.PIPE)  # noqa: S603 - the program above
        came = is_complete.wait(SECONDS)
        process.communicate(b"\n")
        server.shutdown()
    if not came:
        sys.exit(f"the package sent {len(found)} of {REQUESTS} requests within {SECONDS:g} seconds")
    return sorted(found, key=lambda one: str(one["headers"]["ce-type"]))


if __name__ == "__main__":
    main()
