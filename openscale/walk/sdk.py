"""Starts the service with an empty database and walks each installed version of the OpenScale SDK through it."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import httpx

from app.access.principals import Role
from app.access.users.user_rules import create_user
from app.base.telemetry.json_logs import configure_logging
from app.database.embedded.embedded_server import EmbeddedPostgres
from app.database.engine import Database
from app.database.migrations import upgrade
from tests.builders.workers import working
from tests.models.custom_provider import custom_provider
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.models.tls_proxy import CERTIFICATE, tls_in_front
from tests.service import running_service

REPOSITORY = Path(__file__).resolve().parents[2]
SDKS = REPOSITORY / ".openscale-sdk"
RECORDED = REPOSITORY / "tests" / "openscale" / "recorded.json"
PAGE = REPOSITORY / "openscale" / "README.md"
LAST = "and writes what follows.\n\n"

PASSWORD = "correct horse battery staple"  # noqa: S105 - of a user in a database that is thrown away


def walk(version: str, folder: Path, more: list[str]) -> int:
    """Walks one version through a service with an empty database, prints what each method did, and returns 0 unless one is broken."""
    server, scorer = EmbeddedPostgres(folder / "postgres"), RuleScorer()
    server.start()
    try:
        database = Database(server.url)
        upgrade(database)
        with (
            running_service(database, folder / "data") as service,
            serve(scorer) as model,
            custom_provider(scorer, None) as provider,
            tls_in_front(httpx.URL(service.base_url).port or 0, folder) as tls_url,
            working(database, folder / "data"),
        ):
            with database.transaction() as session:
                create_user(session, "ada", password=PASSWORD, role=Role.MANAGE)
            plan = {"url": service.base_url, "model_url": model.url, "key": service.admin_key, "user": "ada", "password": PASSWORD}
            path = folder / "walk.json"
            path.write_text(json.dumps({**plan, "tls_url": tls_url, "provider_url": provider.url}))
            command = [str(SDKS / version / "bin" / "python"), str(Path(__file__).with_name("walk.py")), str(path), *more]
            # Where the SDK verifies certificates, it knows that of the proxy.
            environment = {**os.environ, "REQUESTS_CA_BUNDLE": str(folder / CERTIFICATE), "PYTHONWARNINGS": "ignore"}
            ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603 - our own program
        database.close()
    finally:
        server.stop()
    print(f"\nibm-watson-openscale {version}")
    if ended.returncode:
        print(ended.stderr[-4000:])
    else:
        for name, state in json.loads(ended.stdout.splitlines()[-1]).items():
            print(f"  {name:54} {state}")
    return ended.returncode


def write_methods() -> None:
    """Writes what was recorded of each method at the end of the page that says how to move."""
    methods: dict[str, str] = json.loads(RECORDED.read_text())["methods"]
    lists = []
    for state in sorted(set(methods.values()), reverse=True):
        parts: defaultdict[str, list[str]] = defaultdict(list)
        for name in sorted(name for name in methods if methods[name] == state):
            part, _, method = name.partition(".")
            parts[part].extend([f"`{method}`"] if method else [])
        named = (f"`{part}` {', '.join(found)}" if found else f"`{part}`" for part, found in parts.items())
        lists.append(f"*{state}*: {'; '.join(named)}.\n")
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text[: text.index(LAST) + len(LAST)] + "\n".join(lists), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the calls of the newest SDK, for the test that replays them")
    options = parser.parse_args()
    configure_logging("error")
    failed = 0
    for version in ("3.1.11", "3.0.14"):
        with tempfile.TemporaryDirectory(prefix="evenhand-sdk-") as folder:
            # As root the database runs as another account.
            Path(folder).chmod(0o711)
            more = [str(RECORDED)] if options.record and version == "3.1.11" else []
            failed += walk(version, Path(folder), more) != 0
    if options.record and not failed:
        write_methods()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
