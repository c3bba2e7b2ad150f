"""The tables of docs/concepts/metric-names.md: what a metric of another tool is called here."""

import re
from dataclasses import dataclass

from tests.builders.docs_pages import DOCS, section, table

PAGE = DOCS / "concepts" / "metric-names.md"
TOOLS = ("AIF360", "Clarify", "OpenScale", "fairlearn")


HEADINGS = {"Clarify": "SageMaker Clarify"}


@dataclass(frozen=True, slots=True)
class Entry:
    """Our keys of one metric of a tool, or words, where it is no metric."""

    keys: tuple[str, ...]


def entries(tool: str) -> dict[str, Entry]:
    """The metrics of a tool by its names: those under our own name, and the rows of its table."""
    same = re.search(r"^Under the same name: (.*)\.$", section(PAGE, HEADINGS.get(tool, tool)), re.MULTILINE)
    ours = {name: Entry((name,)) for name in re.findall(r"`(\w+)`", same[1])} if same else {}
    return ours | {name: Entry(tuple(keys.replace("`", "").split(", "))) for name, keys in table(PAGE, f"{tool} name")}


def key_of(tool: str, name: str) -> str:
    """The one key of a metric that is one."""
    (key,) = entries(tool)[name].keys
    return key
