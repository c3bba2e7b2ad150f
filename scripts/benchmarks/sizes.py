"""Prints how large a service is: its installed environment, the modules that it loads, and the figures of a check in the worked example.

The `requirements.lock` of the checkout FOLDER is installed into a temporary folder by pip (about 1 GB and some minutes), unless `--python`
names an interpreter that has the packages.
"""

import subprocess
import sys
import time
from pathlib import Path

import psutil
import psycopg

from scripts.arguments import make_parser
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.service import ROOT, Checkout, install
from scripts.benchmarks.staging import own_postgres

MAX_ENVIRONMENT_MB, MAX_MODULES, MAX_FIGURES = 850, 850, 120
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
            environment = folder / "environment"
            python = install(code / "requirements.lock", environment)
            size = sum(path.lstat().st_blocks for path in environment.rglob("*")) * 512 / 2**20
            lines.append(Line("sizes: installed environment of a service, MB", size, MAX_ENVIRONMENT_MB, is_most=True))
        modules = subprocess.run([python, "-c", MODULES], cwd=code, check=True, capture_output=True, text=True).stdout
        lines.append(Line("sizes: modules of ours that the API loads", int(modules), MAX_MODULES, is_most=True))
        figures = _count_figures(Checkout(code, python, url, folder), folder / "printed")
        lines.append(Line("sizes: rows of figures of a check in the example", figures, MAX_FIGURES, is_most=True))
    sys.exit(0 if show_lines(lines) else 1)


def _count_figures(checkout: Checkout, printed: Path) -> int:
    with checkout.running("example", "--hours", "6", output=printed) as process:
        while "A series, day by day" not in printed.read_text():  # the story's last words
            if process.status() == psutil.STATUS_ZOMBIE:
                sys.exit(f"the example did not come to its results: {printed.read_text()}")
            time.sleep(0.5)
        with psycopg.connect(checkout.url) as connection:
            row = connection.execute(
                "SELECT count(*) FROM measurements WHERE check_no = (SELECT max(no) FROM checks WHERE state = 'succeeded')"
            ).fetchone()
    return int(row[0]) if row else 0


if __name__ == "__main__":
    main()
