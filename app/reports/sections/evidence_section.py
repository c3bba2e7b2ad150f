"""Present evidence of every comparison, in the words of the pages."""

from collections import Counter
from collections.abc import Iterator

from ...evidence.present_state import DeploymentEvidence
from ...evidence.words import (
    NO_MONITOR,
    describe_evidence,
    list_notes,
    name_figure,
    order_by_gravity,
    say_comparison,
    say_limit,
)
from ...statistics.e_values.state_words import State
from ..document import ABSENT, Block, Paragraph, ReportTable, Section, caution, interval

MOST_COMPARISONS = 200
"""Max comparisons that a report lists."""

MOST_SAID = 4
"""Max comparisons on the first page."""

MEANING = (
    "Evidence adds up over the hours, each record counted once. On a model that is inside its limits in "
    "every hour, all comparisons together raise at most one false alarm in the budget, if each record is "
    "another person, however often somebody looks. The verdict of a single check has no such bound."
)


def evidence_section(evidence: DeploymentEvidence | None) -> Section:
    """Present evidence, whichever time the report is about; None without a monitor."""
    if evidence is None:
        return Section("Evidence over time", (caution(NO_MONITOR),))
    comparisons = order_by_gravity(evidence.comparisons)
    blocks: list[Block] = [Paragraph(" ".join(describe_evidence(evidence)))]
    if comparisons:
        rows = tuple(
            (
                name_figure(state),
                say_limit(state),
                ABSENT if state.figure_id is None else interval(*state.interval),
                " ".join((state.words, *list_notes(state))),
            )
            for state in comparisons[:MOST_COMPARISONS]
        )
        note = MEANING
        if len(comparisons) > MOST_COMPARISONS:
            note += f" The first {MOST_COMPARISONS} of {len(comparisons):,}."
        blocks.append(
            ReportTable(
                "The state of every comparison when this report was made",
                ("Comparison", "Limit", "95 %, at all hours", "State"),
                rows,
                note,
                is_last_wide=True,
            )
        )
    return Section("Evidence over time", blocks)


def say_since(
    evidence: DeploymentEvidence | None,
    *,
    attribute: str | None = None,
    group: str | None = None,
    limit: int = MOST_SAID,
) -> Iterator[str]:
    """Yields the present evidence, the gravest first, at most `most`.

    Of equally grave comparisons, those of `group` (a display name) come first.
    """
    if evidence is None:
        yield NO_MONITOR
        return
    comparisons = sorted(
        evidence.comparisons, key=lambda state: (state.attribute, state.group) != (attribute, group)
    )
    decided = [state for state in order_by_gravity(comparisons) if state.state is not State.UNDECIDED]
    yield " ".join(describe_evidence(evidence))
    yield from map(say_comparison, decided[:limit])
    listed = {id(state) for state in decided[:limit]}
    left_out = Counter(
        state.state.value.replace("_", " ")
        for state in order_by_gravity(comparisons)
        if id(state) not in listed
    )
    if left_out:
        *counts, last = (f"{count:,} {state}" for state, count in left_out.items())
        remainder = f"{', '.join(counts)} and {last}" if counts else last
        yield f"Not listed here: {remainder}. The deployment's page has every comparison."
