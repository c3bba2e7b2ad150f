"""The report that `groups` prints: what was searched, and each subgroup that was found in a sentence or two."""

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape

from ..evidence.nulls import UnfairSide
from ..frames.groups import CandidateState, FoundGroup, FoundGroups
from .evidence_report import fill, format_time


def render_groups(found: FoundGroups, name: str, console: Console) -> str:
    """Returns the report under the file's name, as wide as the console."""
    with console.capture() as capture:
        for line in _list_lines(found, name):
            console.print(escape(fill(line, console.width)), soft_wrap=True)
        console.print()
        for group in found.groups:
            console.print(escape(fill(phrase_group(group, found), console.width, "• ")), soft_wrap=True)
    return capture.get().rstrip()


def phrase_group(group: FoundGroup, found: FoundGroups) -> str:
    """Returns in sentences which subgroup was found, and whether later hours confirm it."""
    named = "; ".join(f"{feature} {' or '.join(labels)}" for feature, labels in group.labels.items())
    lead = (
        f"Candidate {group.number}, {named}: {group.rate:.1%} of {group.records:,} records are favourable, of the others "
        f"{group.others_rate:.1%} (scan of {format_time(group.found_at)}, p = {group.p_value:.3f})."
    )
    than = "less than" if found.direction is UnfairSide.BELOW else "more than"
    claim = f"its favourable rate is {than} {found.limit:.3g} times that of the others"
    if group.state is CandidateState.CONFIRMED and group.confirmed_at is not None:
        return f"{lead} Confirmed at {format_time(group.confirmed_at)}: the hours after the scan show that {claim}."
    if group.state is CandidateState.EXPIRED:
        return f"{lead} Expired at {format_time(group.expires_at)}: in 30 days later hours did not show that {claim}."
    return (
        f"{lead} A candidate, not a finding: later hours must show that {claim}. Evidence so far {group.evidence:.3g} of "
        f"{group.needed:,.0f}; it expires at {format_time(group.expires_at)}."
    )


def _list_lines(found: FoundGroups, name: str) -> Iterator[str]:
    scans = "1 scan" if found.scans == 1 else f"{found.scans} scans"
    yield f"{name}: {found.records:,} records in {found.hours:,} hours from {format_time(found.first)}."
    yield f"Favourable: {', '.join(found.favourable)}."
    yield f"{scans}, each of which searched {found.subsets:,} subgroups by {', '.join(found.features)}."
    if not found.groups:
        does = "falls short" if found.direction is UnfairSide.BELOW else "is ahead"
        yield f"No subgroup {does} more than chance allows."
    else:
        yield (
            "A p value says how often chance alone would find as much in one scan. The chance that any candidate is ever confirmed "
            "although it is inside the limit in every hour is at most 5 %."
        )
