"""The main module of the process that answers HTTP."""

import subprocess
import sys


def test_a_process_of_reports_which_loads_it_too_loads_nothing_of_the_api() -> None:
    look = "import sys, app.cli.api_process; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", look], stdout=subprocess.PIPE, text=True, check=True)

    assert {"app.cli.api_process", "app.main", "app.cli.api_server", "fastapi"} & set(ended.stdout.split()) == {"app.cli.api_process"}
