"""The report that `groups` prints."""

from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape

from ..scan.results import SearchResult, say_search
from .evidence_report import fill


def render_groups(found: SearchResult, name: str, console: Console) -> str:
    """Returns the report, as wide as the console, but for the group as JSON, which is one line."""
    with console.capture() as capture:
        console.print(escape(fill(f"{name}: {say_search(found)}", console.width)), soft_wrap=True)
        if found.group is not None:
            console.print()
            watching = "To watch the group from now on: --watch DEPLOYMENT, or POST …/fairness-monitor/found-groups with"
            console.print(escape(fill(watching, console.width)), soft_wrap=True)
    body = "" if found.group is None else msgspec.json.encode(request_watching(found)).decode()
    return f"{capture.get()}{body}".rstrip()


def request_watching(found: SearchResult, name: str | None = None) -> dict[str, Any]:
    """Returns the body of a request to watch the group."""
    group = found.group
    assert group is not None, "the search found a group"  # noqa: S101 - for the caller to see
    search = {"rule": msgspec.to_builtins(group.rule), "subsets": found.subsets, "p_value": found.p_value}
    return {"search": search} if name is None else {"search": search, "name": name}
