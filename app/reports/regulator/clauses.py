"""Rules that reports speak to: what each says, its state, and what answers it here. Not legal advice."""

from collections.abc import Iterable, Mapping
from datetime import date
from enum import StrEnum
from importlib.resources import files
from typing import Literal

import msgspec


class ToolKind(StrEnum):
    """Kinds of tools under Local Law 144."""

    SELECTING = "selecting"
    SCORING = "scoring"


class RuleClause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Clause of a rule.

    `seen_on` is the date of the newest dated page that was seen; of a `primary` source a page of the
    authority was. `answered_by` has names such as `sheet:evidence` and `api:readAlert`. `open` says what
    was not seen.
    """

    id: str
    rule: str
    clause: str
    state: str
    in_force_from: date | None
    seen_on: date | None
    checked_on: date
    source_kind: Literal["primary", "secondary"]
    pages_seen: int
    answered_by: tuple[str, ...]
    not_answered: tuple[str, ...]
    wording: str
    notice: str
    ended_on: date | None = None
    replaced_by: str | None = None
    replaces: tuple[str, ...] = ()
    changes: str | None = None
    open: str | None = None

    def describe_state(self, day: date, names: Mapping[str, str]) -> str:
        if self.ended_on is not None and self.ended_on <= day:
            replacement = f", see {names[self.replaced_by]}" if self.replaced_by else ""
            return f"withdrawn on {self.ended_on}{replacement}"
        if self.in_force_from is not None:
            return f"{'in force since' if self.in_force_from <= day else 'from'} {self.in_force_from}"
        return "draft" if self.state.startswith("draft") else self.state


CLAUSES = msgspec.json.decode((files(__package__) / "clauses.json").read_bytes(), type=tuple[RuleClause, ...])


def describe_sources(clauses: Iterable[RuleClause]) -> str:
    all_clauses = list(clauses)
    oldest_day = min(clause.checked_on for clause in all_clauses)
    secondary_count = sum(clause.source_kind == "secondary" for clause in all_clauses)
    return (
        f"Not legal advice. State of the rules as read on {oldest_day}; {secondary_count} of "
        f"{len(all_clauses)} rows rest on secondary sources."
    )


NOT_LEGAL_ADVICE = describe_sources(CLAUSES)
