"""Real model servers, and programs in the documented form of a format."""

import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from app.base.clock import monotonic_seconds
from app.domain.deployment import BodyMapping, FieldType
from app.payloads.registry import PayloadFormat
from scripts.benchmarks.service import find_free_port
from tests.models.speaking import MAPPING

PROGRAMS = Path(__file__).resolve().parent / "model_servers"
REPOSITORY = PROGRAMS.parents[2]
READY_SECONDS = 240.0

TYPES = {
    "whole": dict.fromkeys(("sex", "income", "age", "owner"), FieldType.INTEGER),
    "mixed": {"sex": FieldType.STRING, "income": FieldType.NUMBER, "age": FieldType.INTEGER, "owner": FieldType.BOOLEAN},
}
BENTO = BodyMapping(records="$.records[*]")


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask a server: the format, the path of its address, and the outputs' names if they are not ours."""

    payload_format: str
    path: str
    mapping: BodyMapping | None = None
    outputs: tuple[str, str] = ("prediction", "probability")

    @property
    def has_lists(self) -> bool:
        return self.outputs != ("prediction", "probability")


V2 = "/v2/models/{kind}/infer"
OPEN_INFERENCE = [Way(payload_format, V2) for payload_format in ("open_inference", "open_inference_binary")]
MLSERVER = ("predict", "predict_proba")


@dataclass(frozen=True, slots=True)
class Server:
    """One server and the ways to ask it, by the model."""

    name: str
    command: list[str]
    ready: str
    ways: dict[str, list[Way]]
    environment: dict[str, str] = field(default_factory=dict)


def documented(python: str, folder: Path) -> list[Server]:
    found = []
    for kind in TYPES:
        port = find_free_port()
        names = [row.value for row in PayloadFormat if kind == "whole" or row is not PayloadFormat.OPEN_INFERENCE_MATRIX]
        ways = [Way(name, f"/formats/{name}", BodyMapping(**MAPPING) if name == "mapped" else None) for name in names]
        command = [python, "documented.py", str(folder), kind, str(port), str(REPOSITORY)]
        found.append(Server("documented form", command, f":{port}/", {kind: ways}))
    return found


def real_servers(wanted: list[str], pythons: dict[str, str], folder: Path) -> Iterator[Server]:
    for name in wanted:
        port = find_free_port()
        python = pythons[name]
        match name:
            case "mlflow":
                yield from _mlflow_servers(python, folder)
            case "mlserver":
                _write_mlserver_settings(folder / "mlserver", folder, port)
                own = {"MLSERVER_PARALLEL_WORKERS": "0"}
                columns, matrix = (Way(name, V2, outputs=MLSERVER) for name in ("open_inference", "open_inference_matrix"))
                ways = {"whole": [columns, matrix], "mixed": [columns]}
                yield Server(
                    "MLServer", [_program(python, "mlserver"), "start", str(folder / "mlserver")], f":{port}/v2/health/ready", ways, own
                )
            case "kserve":
                v1 = [Way(payload_format, "/v1/models/{kind}:predict") for payload_format in ("kserve_v1", "instances")]
                matrix = Way("open_inference_matrix", V2)
                ways = {"whole": [*v1, *OPEN_INFERENCE, matrix], "mixed": [*v1, *OPEN_INFERENCE]}
                yield Server("KServe", [python, "kserve_server.py", str(folder), str(port)], f":{port}/v2/health/ready", ways)
            case "bentoml":
                both = [Way("json_records", "/bare/{kind}"), Way("mapped", "/{kind}", BENTO)]
                command = [_program(python, "bentoml"), "serve", "bento_service:Credit", "--port", str(port)]
                own = {"CREDIT_MODELS": str(folder), "BENTOML_DO_NOT_TRACK": "1"}
                yield Server("BentoML", command, f":{port}/readyz", dict.fromkeys(TYPES, both), own)
            case "triton":
                command = [python, "triton_server.py", str(folder), str(port)]
                yield Server("Triton", command, f":{port}/v2/models/mixed/ready", dict.fromkeys(TYPES, OPEN_INFERENCE))


def _mlflow_servers(python: str, folder: Path) -> Iterator[Server]:
    formats = ("mlflow", "mlflow_records", "mlflow_csv", "instances", "mlflow_inputs")
    for kind in TYPES:
        # Probabilities alone, as scikit-learn's own flavour answers them: the prediction is the likeliest class.
        named, alone = [Way(one, "/invocations") for one in formats], [Way("mlflow", "/invocations", outputs=("score", "score"))]
        for model, ways in ((kind, named), (f"{kind}-proba", alone)):
            port = find_free_port()
            command = [_program(python, "mlflow"), "models", "serve", "--env-manager", "local", "--host", "127.0.0.1"]
            command += ["--port", str(port), "--workers", "1", "--model-uri", str(folder / f"mlflow-{model}")]
            own = {"PATH": f"{Path(python).parent}:{os.environ['PATH']}", "MLFLOW_DISABLE_TELEMETRY": "true"}
            yield Server("MLflow" if model == kind else "MLflow, probabilities", command, f":{port}/ping", {kind: ways}, own)


def _write_mlserver_settings(models: Path, folder: Path, port: int) -> None:
    models.mkdir()
    (models / "settings.json").write_text(
        json.dumps(
            {"host": "127.0.0.1", "http_port": port, "grpc_port": find_free_port(), "metrics_port": find_free_port(), "debug": False}
        )
    )
    for kind in TYPES:
        settings = {"name": kind, "implementation": "mlserver_sklearn.SKLearnModel", "parameters": {"uri": str(folder / f"{kind}.joblib")}}
        (models / kind).mkdir()
        (models / kind / "model-settings.json").write_text(json.dumps(settings))


def _program(python: str, name: str) -> str:
    return str(Path(python).with_name(name))


@contextlib.contextmanager
def running(server: Server, folder: Path) -> Iterator[None]:
    log = folder / f"{server.name.replace(' ', '-')}.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            server.command,
            cwd=PROGRAMS,
            env={**os.environ, **server.environment, "PYTHONWARNINGS": "ignore"},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        _wait_until_ready(process, f"http://127.0.0.1{server.ready}", log)
        yield
    finally:
        # The group of the process that was started here, and nothing else.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_until_ready(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    deadline = monotonic_seconds() + READY_SECONDS
    while monotonic_seconds() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - an address of loopback
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise SystemExit(f"The server is not ready:\n{log.read_text(errors='replace')[-3000:]}")
