"""Forms of the pages when no script has run."""

import re
from importlib.resources import files

TEMPLATES = files("app.pages") / "templates"


def test_every_form_names_its_method_so_that_none_puts_what_was_typed_into_an_address() -> None:
    forms = [form for file in TEMPLATES.iterdir() for form in re.findall(r"<form\b[^>]*>", file.read_text("utf-8"))]

    assert [form for form in forms if "method=" not in form] == []
    assert [form for form in forms if "data-api" in form and 'method="dialog"' not in form] == []
