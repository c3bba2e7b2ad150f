"""The words that show a kind, read from `words/`."""

import tomllib
from pathlib import Path
from typing import Any

from .attribute_kinds import Coding, Kind, KindRow, Split, ValueNature

_FOLDER = Path(__file__).with_name("words")


def read_words(name: str) -> dict[str, Any]:
    # TOML is UTF-8, whatever the locale of the machine.
    with (_FOLDER / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)


def read_kind(kind: Kind) -> KindRow:
    entries = read_words(kind)
    for name in ("words", "weak_words", "indicators", "unfit_names"):
        entries[name] = {
            spelling: meaning
            for meaning, spellings in entries.get(name, {}).items()
            for spelling in spellings
        }
    entries["codings"] = tuple(Coding(**coding) for coding in entries.get("codings", ()))
    entries["splits"] = tuple(Split(**split) for split in entries.get("splits", ()))
    entries["form"] = ValueNature(entries.get("form", ValueNature.CATEGORIES))
    return KindRow(kind=kind, **entries)


KINDS = tuple(map(read_kind, Kind))
"""The first of several that a column could be is taken."""

_OF_ANY_KIND = read_words("any_kind")

NO_ANSWERS = frozenset[str](_OF_ANY_KIND["no_answers"])

NEUTRAL = frozenset[str](_OF_ANY_KIND["neutral"])
"""Words next to a name that change nothing in the meaning of the column."""

NEUTRAL_TO_CLEAR_NAMES = NEUTRAL | frozenset[str](_OF_ANY_KIND["neutral_to_clear_names"])
"""Such words next to a name that means nothing else."""

YES = frozenset[str](_OF_ANY_KIND["yes"])
NO = frozenset[str](_OF_ANY_KIND["no"])
