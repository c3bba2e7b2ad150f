"""Drills the loss of an installation: backup under load, restore in another place, comparison of every row.

`evenhand backup` runs while records are logged; then the installation is deleted, and `evenhand restore` loads the backup into a fresh one.
Every record that was acknowledged before the backup began must be there once, none half, every other table have its rows, and the stored
secret be readable with the kept key. Ends with 1 if anything differs.
"""

import argparse
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

import httpx
import psycopg
from psycopg import sql

from app.embedded import embedded_postgres
from app.security.keys import create_key
from app.security.principals import Role
from app.store.database.engine import Database
from app.store.database.migrate import upgrade
from scripts.benchmarks.service import service

ROOT = Path(__file__).resolve().parents[2]
SECRET = "the key of this drill, kept apart from the backup"  # noqa: S105 - of nobody
_GROWING = {"payload_records", "payload_keys", "record_counts", "arrivals", "key_use", "audit_events"}
"""Tables that callers write to while the backup runs; `payload_records` has the rows of its months."""


def main() -> None:
    """Runs the drill and prints its result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000)
    options = parser.parse_args()
    os.environ["EVENHAND_SECRET_KEY"] = SECRET
    with tempfile.TemporaryDirectory(prefix="evenhand-drill-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # the database may run as another account
        sys.exit(_drill(folder, options.records))


def _drill(folder: Path, records: int) -> int:
    first, second, backup = folder / "first", folder / "second", folder / "evenhand.backup"
    with embedded_postgres(first) as url:
        database = Database(url)
        upgrade(database)
        with database.transaction() as session:
            key = create_key(session, role=Role.ADMIN, name="drill")
        database.close()
        with service(url, first) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=_bearer(key), timeout=60) as client:
            _register(client)
            acknowledged = _log(client, records)
            before = _rows(url)
            stop, during = threading.Event(), list[str]()
            caller = threading.Thread(target=_log_until, args=(client, stop, during))
            caller.start()
            began = time.monotonic()
            _command("backup", str(backup), data=first)
            took = time.monotonic() - began
            stop.set()
            caller.join()
    shutil.rmtree(first)
    began = time.monotonic()
    _command("restore", str(backup), data=second)
    restored = time.monotonic() - began
    with embedded_postgres(second) as url:
        after = _rows(url)
        kept = {name for name in before if name not in _GROWING and not name.startswith("payload_records_")}
        faults = [name for name in sorted(kept) if before[name] != after.get(name)]
        faults += _compare_records(url, acknowledged)
        with service(url, second) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=_bearer(key), timeout=60) as client:
            if client.get("/health/ready").is_error or client.get("/v1/deployments/drill").is_error:
                faults.append("the restored service does not answer")
    size = backup.stat().st_size
    print(f"backup of {len(acknowledged):,} records in {took:.1f} s while {len(during):,} more were logged: {size / 1e6:.1f} MB")
    print(f"restored in {restored:.1f} s; tables compared: {len(before)}; faults: {faults or 'none'}")
    return 1 if faults else 0


def _compare_records(url: str, acknowledged: list[str]) -> list[str]:
    faults = []
    with psycopg.connect(url) as connection:
        stored = [one for (one,) in connection.execute("SELECT record_id FROM payload_records")]
        keys = {one for (one,) in connection.execute("SELECT record_id FROM payload_keys")}
    if len(set(stored)) != len(stored):
        faults.append("records stored twice")
    if set(stored) != keys:
        faults.append("records without their id, or ids without their record")
    if not set(acknowledged) <= keys:
        faults.append(f"{len(set(acknowledged) - keys)} acknowledged records are missing")
    return faults


def _rows(url: str) -> dict[str, str]:
    with psycopg.connect(url) as connection:
        names = [name for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        rows = {name: connection.execute(_ALL.format(sql.Identifier(name))).fetchall() for name in names}
    return {name: hashlib.sha256(repr(found).encode()).hexdigest() for name, found in rows.items()}


_ALL = sql.SQL("SELECT t::text FROM {} t ORDER BY 1")


def _register(client: httpx.Client) -> None:
    credentials = {"kind": "bearer", "secret": "sesame"}
    body = {
        "id": "drill",
        "name": "Drill",
        "problem_type": "binary",
        "features": [{"name": "sex", "type": "string"}, {"name": "income", "type": "number"}],
        "outputs": {"prediction": "prediction"},
        "model_revision": "1",
        "endpoint": {"url": "http://127.0.0.1:9/score", "credentials": credentials},
    }
    client.post("/v1/deployments", json=body).raise_for_status()


def _log(client: httpx.Client, count: int) -> list[str]:
    ids = [str(uuid.uuid4()) for _ in range(count)]
    for start in range(0, count, 1000):
        records = [{"id": one, "features": {"sex": "female", "income": 1}, "prediction": 1} for one in ids[start : start + 1000]]
        client.post("/v1/deployments/drill/payload-records", json={"records": records}).raise_for_status()
    return ids


def _log_until(client: httpx.Client, stop: threading.Event, logged: list[str]) -> None:
    while not stop.is_set():
        logged += _log(client, 50)


def _command(*arguments: str, data: Path) -> None:
    environment = {**os.environ, "EVENHAND_DATA_DIR": str(data), "EVENHAND_LOG_LEVEL": "ERROR"}
    command = [sys.executable, "-m", "app.cli", *arguments]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)  # noqa: S603 - our own


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
