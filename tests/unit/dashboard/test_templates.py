"""Rules of the templates that no rendered page shows reliably."""

import re
from pathlib import Path

import app.dashboard

TEMPLATES = Path(app.dashboard.__file__).parent / "templates"
_LOOSE = re.compile(r"parts\.term\([^}]*\) \}\}[.,;:)]++(?!</span>)")


def test_punctuation_after_a_word_that_is_explained_stays_on_its_line() -> None:
    """The word is a button, after which a browser may break the line: a full stop was alone on the next one."""
    loose = {path.name: found for path in TEMPLATES.glob("*.html") if (found := _LOOSE.findall(path.read_text("utf-8")))}

    assert loose == {}
