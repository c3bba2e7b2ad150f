"""Only `app/base/clock.py` reads the clock: everything else is passed the moment."""

from pathlib import Path

APP = Path(__file__).parents[2] / "app"


def test_only_the_clock_asks_what_time_it_is() -> None:
    offenders = [
        path.relative_to(APP).as_posix()
        for path in APP.rglob("*.py")
        if path.name != "clock.py" and "datetime.now(" in path.read_text(encoding="utf-8")
    ]

    assert offenders == []
