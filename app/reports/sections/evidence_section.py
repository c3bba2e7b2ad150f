"""Present evidence of every comparison, in the words of the pages."""

from collections import Counter
from collections.abc import Iterator

from ...evidence.present_state import DeploymentEvidence
from ...evidence.words import (
    NO_MONITOR,
    describe_evidence,
    list_figure_notes,
    list_figures,
    name_figure,
    rank_gravity,
    say_comparison,
)
from ...statistics.e_values.state_words import NOT_COVERED
from ..document import ABSENT, Block, Paragraph, ReportTable, Section, build_caution, write_interval

MAX_FIGURES = 200

FIRST_WITHOUT_EVIDENCE = 8
"""First row of the table of states in which evidence says nothing of the figure itself."""

MAX_SENTENCES = 4
"""Figures on the first page, a sentence each."""

EVIDENCE_MEANING = (
    "Evidence adds up over the hours, each record counted once, and may be looked at at any time. Its bound "
    "on false alarms and the condition of that are said with it; the verdict of a single check has no such "
    "bound. "
    f"{NOT_COVERED}"
)


def write_evidence_section(evidence: DeploymentEvidence | None) -> Section:
    """Writes the present evidence, whichever time the report is about. It is None without a monitor."""
    if evidence is None:
        return Section("Evidence over time", (build_caution(NO_MONITOR),))
    figures = list_figures(evidence.comparisons)
    blocks: list[Block] = [Paragraph(" ".join(describe_evidence(evidence)))]
    if figures:
        rows = tuple(
            (
                name_figure(figure),
                figure.statement.state,
                ABSENT if figure.statement.interval is None else write_interval(*figure.statement.interval),
                figure.statement.interval_kind or ABSENT,
                " ".join((figure.statement.sentence, *list_figure_notes(figure))),
            )
            for figure in figures[:MAX_FIGURES]
        )
        note = EVIDENCE_MEANING
        if len(figures) > MAX_FIGURES:
            note += f" The first {MAX_FIGURES} of {len(figures):,}."
        blocks.append(
            ReportTable(
                "The state of every figure when this report was made",
                ("Figure", "State", "95 %", "Interval", "In words"),
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
    limit: int = MAX_SENTENCES,
) -> Iterator[str]:
    """The gravest first, at most `limit` figures.

    Of equally grave figures, those of `group` (a display name) come first.
    """
    if evidence is None:
        yield NO_MONITOR
        return
    figures = sorted(
        list_figures(evidence.comparisons),
        key=lambda figure: (rank_gravity(figure), (figure.attribute, figure.group) != (attribute, group)),
    )
    decided = [figure for figure in figures if figure.statement.row < FIRST_WITHOUT_EVIDENCE]
    yield " ".join(describe_evidence(evidence))
    yield from map(say_comparison, decided[:limit])
    listed_ids = {id(figure) for figure in decided[:limit]}
    states = Counter(figure.statement.state.lower() for figure in figures if id(figure) not in listed_ids)
    if states:
        *counts, last_count = (f"{count:,} {state}" for state, count in states.items())
        remainder = f"{', '.join(counts)} and {last_count}" if counts else last_count
        yield f"Not listed here: {remainder}. The deployment's page has every figure."
