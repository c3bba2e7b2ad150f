"""The tables of docs/concepts/metric-names.md: what a metric of another tool is called here."""

from typing import NamedTuple

from tests.builders.docs_pages import DOCS, table

PAGE = DOCS / "concepts" / "metric-names.md"
TOOLS = ("AIF360", "Clarify", "OpenScale", "fairlearn")


class Entry(NamedTuple):
    """One row: our keys (or words, where it is no metric), and the file with its test."""

    keys: tuple[str, ...]
    tested_in: str


def entries(tool: str) -> dict[str, Entry]:
    """The rows of a tool's table by the tool's name of the metric."""
    rows = table(PAGE, f"{tool} name")
    return {name: Entry(tuple(keys.replace("`", "").split(", ")), tested_in) for name, keys, tested_in in rows}


def key_of(tool: str, name: str) -> str:
    """The one key of a metric that is one."""
    (key,) = entries(tool)[name].keys
    return key
