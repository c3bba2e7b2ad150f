"""Evidence over time in a report: the present state of every comparison, in the words that all pages use."""

from sqlalchemy.orm import Session

from ..tracking.looking import look_at_evidence
from ..tracking.wording import NO_MONITOR, list_notes, list_remarks, name_figure, order_by_gravity, say_limit, sum_up
from .document import Block, Paragraph, Section, Table
from .numbers import ABSENT, interval

MOST_COMPARISONS = 200
"""Max comparisons that a report lists; the API has all."""

MEANING = (
    "Evidence adds up over the hours, each record counted once. On a model that is inside its limits in every hour, all comparisons"
    " together raise at most one false alarm in the budget, however often somebody looks. The verdict of a single check has no such bound."
)


def evidence_section(session: Session, deployment_no: int) -> Section:
    """Returns the evidence on the deployment as it is now, whichever time the report is about."""
    evidence = look_at_evidence(session, deployment_no)
    if evidence is None:
        return Section("Evidence over time", (Paragraph(NO_MONITOR, is_caution=True),))
    comparisons = order_by_gravity(evidence.comparisons)
    blocks: list[Block] = [Paragraph(" ".join([sum_up(comparisons), *list_remarks(evidence)]))]
    if comparisons:
        rows = []
        for one in comparisons[:MOST_COMPARISONS]:
            ends = ABSENT if one.figure_id is None else interval(*one.interval)
            rows.append((name_figure(one), say_limit(one), ends, " ".join((one.words, *list_notes(one)))))
        more = f" The first {MOST_COMPARISONS} of {len(comparisons):,}." if len(comparisons) > MOST_COMPARISONS else ""
        columns = ("Comparison", "Limit", "95 %, at all hours", "State")
        blocks.append(
            Table("The state of every comparison when this report was made", columns, tuple(rows), MEANING + more, is_last_wide=True)
        )
    return Section("Evidence over time", tuple(blocks))
