"""The report that `groups` prints: what was searched, and the group that was found, as a rule."""

import msgspec
from rich.console import Console
from rich.markup import escape

from ..scan.results import SearchResult, say_search
from .evidence_report import fill


def render_groups(found: SearchResult, name: str, console: Console) -> str:
    """Returns the report under the file's name, as wide as the console, but for the rule, which is one line."""
    with console.capture() as capture:
        console.print(escape(fill(f"{name}: {say_search(found)}", console.width)), soft_wrap=True)
        if found.group is not None:
            console.print()
            console.print(escape(fill("Who is in the group, as the rule of a monitor's attribute:", console.width)), soft_wrap=True)
    rule = "" if found.group is None else msgspec.json.encode(found.group.rule).decode()
    return f"{capture.get()}{rule}".rstrip()
