"""The main module of the process that answers HTTP."""

import subprocess
import sys


def test_a_process_of_reports_which_loads_it_too_loads_nothing_of_the_api() -> None:
    look = "import sys, app.cli.service.api_process; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", look], stdout=subprocess.PIPE, text=True, check=True)

    loaded = {name for name in ended.stdout.split() if name in {"app.main", "fastapi"} or name.startswith("app.cli.service.api_")}
    assert loaded == {"app.cli.service.api_process"}
