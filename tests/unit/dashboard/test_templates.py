"""Rules of the templates that no rendered page shows reliably."""

import re
from pathlib import Path

import jinja2
import pytest

from app.pages import render as rendering

TEMPLATES = Path(rendering.__file__).parent / "templates"
_LOOSE = re.compile(r"parts\.term\([^}]*\) \}\}[.,;:)]++(?!</span>)")


def test_punctuation_after_a_word_that_is_explained_stays_on_its_line() -> None:
    """The word is a button, after which a browser may break the line: a full stop was alone on the next one."""
    loose = {path.name: found for path in TEMPLATES.glob("*.html") if (found := _LOOSE.findall(path.read_text("utf-8")))}

    assert loose == {}


@pytest.mark.thorough
def test_templates_that_change_below_a_running_service_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of an upgrade a page was a template of the next version with the values of this one: an error 500."""
    environment = rendering._ENVIRONMENT  # noqa: SLF001 - a page shows one template, and this is about all
    rendering.compile_templates()
    monkeypatch.setattr(jinja2.Template, "is_up_to_date", False)
    monkeypatch.setattr(environment.loader, "get_source", None)

    names = [path.name for path in TEMPLATES.glob("*.html")]

    assert len(names) > 40
    assert [environment.get_template(name).name for name in names] == names
