"""Prints how large a service is: its installed environment, the modules that it loads, the figures of a check, and its memory.

The `requirements.lock` of the checkout FOLDER is installed into a temporary folder by pip (about 1 GB and some minutes), unless `--python`
names an interpreter that has the packages. The figures are those of a check in the worked example; the processes those of `evenhand serve`,
without Postgres.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import httpx
import psutil
import psycopg

from scripts.arguments import make_parser
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.service import ROOT, Checkout, idle_megabytes, install
from scripts.benchmarks.staging import own_postgres

MAX_ENVIRONMENT_MB, MAX_MODULES, MAX_FIGURES = 850, 850, 120
KEY = re.compile(r"evk_\w{8}_[\w-]{43}")
MODULES = """
import sys, app.main
print(sum(name.partition(".")[0] == "app" for name in sys.modules))
"""


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--code", type=Path, default=ROOT, metavar="FOLDER")
    parser.add_argument("--python", type=Path, metavar="PATH")
    options = parser.parse_args()
    code, lines = options.code.resolve(), list[Line]()
    with own_postgres() as (url, folder):
        python = options.python
        if python is None:
            python = install(code / "requirements.lock", folder / "environment")
            size = _count_megabytes((folder / "environment").rglob("*"))
            lines.append(Line("sizes: installed environment of a service, MB", size, MAX_ENVIRONMENT_MB, is_most=True))
        modules = subprocess.run([python, "-c", MODULES], cwd=code, check=True, capture_output=True, text=True).stdout
        lines.append(Line("sizes: modules of ours that the API loads", int(modules), MAX_MODULES, is_most=True))
        checkout = Checkout(code, python, url, folder)
        figures, answer_bytes = _measure_check(checkout, folder / "printed")
        lines.append(Line("sizes: rows of figures of a check in the example", figures, MAX_FIGURES, is_most=True))
        with checkout.running("serve") as process:
            memory = idle_megabytes(process)
    package = [path for part in ("app", "migrations") for path in (code / part).rglob("*") if "__pycache__" not in path.parts]
    print(f"the package itself, without bytecode: {_count_megabytes(package):,.1f} MB")
    print(f"answer of GET checks/{{id}}: {answer_bytes:,} bytes")
    print(f"memory of the idle processes: {memory:,.0f} MB")
    sys.exit(0 if show_lines(lines) else 1)


def _count_megabytes(paths: Iterable[Path]) -> float:
    return sum(path.lstat().st_blocks for path in paths) * 512 / 2**20


def _measure_check(checkout: Checkout, printed: Path) -> tuple[int, int]:
    with checkout.running("example", "--hours", "6", output=printed) as process:
        while "A series, day by day" not in printed.read_text():  # the story's last words
            if process.status() == psutil.STATUS_ZOMBIE:
                sys.exit(f"the example did not come to its results: {printed.read_text()}")
            time.sleep(0.5)
        headers = {"Authorization": f"Bearer {KEY.findall(printed.read_text())[0]}"}
        with psycopg.connect(checkout.url) as connection, httpx.Client(headers=headers) as client:
            row = connection.execute(
                "SELECT d.id, c.id, (SELECT count(*) FROM measurements WHERE check_no = c.no) FROM checks c"
                " JOIN deployments d ON d.no = c.deployment_no WHERE c.state = 'succeeded' ORDER BY c.no DESC LIMIT 1"
            ).fetchone()
            if row is None:
                sys.exit("the example has no check that succeeded")
            answer = client.get(f"http://127.0.0.1:{checkout.port}/v1/deployments/{row[0]}/checks/{row[1]}").raise_for_status()
    return int(row[2]), len(answer.content)


if __name__ == "__main__":
    main()
