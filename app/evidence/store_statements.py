"""Stores the statement on every figure with its state, so that lists of many deployments read it."""

from sqlalchemy.orm import Session

from ..checks.advice.deployment_facts import Compared
from ..domain.monitor import list_comparisons
from ..statistics.catalogue import CATALOGUE
from ..statistics.e_values.nulls import UnfairSide
from ..statistics.intervals.verdicts import GRAVEST, Limits
from ..statistics.measures.worst_group import how_far_out
from .present_state import ComparisonState, look_at_evidence
from .queries.figure_states import StoredStatement, change_statements
from .words import list_figures


def store_statements(session: Session, deployment_no: int) -> None:
    evidence = look_at_evidence(session, deployment_no)
    if evidence is None:
        return
    monitor = evidence.monitor
    references = {
        comparison.label: comparison.reference_label(monitor) for comparison in list_comparisons(monitor)
    }
    limits = {(side.figure_id, side.direction): side.limit for side in evidence.comparisons}
    change_statements(
        session,
        {
            figure.figure_id: _summarise(
                figure,
                (
                    limits.get((figure.figure_id, UnfairSide.BELOW)),
                    limits.get((figure.figure_id, UnfairSide.ABOVE)),
                ),
                references[figure.attribute],
            )
            for figure in list_figures(evidence.comparisons)
            if figure.figure_id is not None
        },
    )


def _summarise(figure: ComparisonState, limits: Limits, reference: str | None) -> StoredStatement:
    statement = figure.statement
    low, high = statement.interval or (None, None)
    compared = statement.compared
    return StoredStatement(
        state=statement.state,
        gravity=GRAVEST.index(statement.verdict),
        beyond=0.0
        if statement.value is None
        else how_far_out(statement.value, CATALOGUE[figure.metric], limits),
        value=statement.value,
        lower=low,
        upper=high,
        interval_kind=statement.interval_kind,
        verdict=statement.verdict,
        n=sum(statement.records or ()),
        compared=Compared(
            reference=reference,
            monitored_records=None if compared is None else round(compared.monitored[1]),
            reference_records=None if compared is None else round(compared.reference[1]),
            reference_favourable=None if compared is None else compared.reference[0],
        ),
        lower_limit=limits[0],
        upper_limit=limits[1],
    )
