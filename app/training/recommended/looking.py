"""What is looked at: the stored training data, and for columns that they lack the newest payload."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.domain.deployments import Column, Deployment, ProblemType
from app.domain.monitors import Monitor
from app.domain.outcomes import OutcomeRule
from app.domain.training_data import Cell, Distribution, TrainingSummary
from app.domain.values import Range, Scalar
from app.store.samples import SampledRecord, newest_records
from app.store.training_data import distributions_of, training_summary_of
from app.training.recommended.detecting import is_named
from app.training.recommended.observed import Observed, Source
from app.training.recommended.observed import Origin as SourceOrigin
from app.training.recommended.outcomes import Origin, Outcomes, outcomes_of
from app.training.recommended.recommending import Recommended, recommend
from app.training.recommended.values import MOST_VALUES

SAMPLED = 10_000
"""Of the newest payload records."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """The training data, if there are any, and the newest payload."""

    summary: TrainingSummary | None
    trained: Mapping[str, Distribution]
    sample: Sequence[SampledRecord]


def recommended_for(session: Session, deployment: Deployment, monitor: Monitor | None, sent: OutcomeRule | None = None) -> Recommended:
    """What a monitor of the deployment should watch; with `sent` outcomes, rates are counted by these."""
    seen = _Seen(
        training_summary_of(session, deployment.no),
        _by_column(distributions_of(session, deployment.no)),
        newest_records(session, deployment.no, deployment.schema.version, SAMPLED),
    )
    outcomes = _outcomes(seen, deployment, monitor, sent)
    watched = {attribute.feature for attribute in monitor.attributes} if monitor else set()
    return recommend(_columns(seen, deployment), outcomes, watched, strata=monitor.strata if monitor else None)


def _outcomes(seen: _Seen, deployment: Deployment, monitor: Monitor | None, sent: OutcomeRule | None) -> Outcomes:
    if sent is not None:
        return Outcomes(sent, Origin.SENT, is_certain=True, evidence="they were sent")
    predicted: Counter[Scalar | Range] = Counter(record.outcome for record in seen.sample if record.outcome is not None)
    labels: Counter[Scalar | Range] = Counter()
    for cell in seen.summary.labels.cells if seen.summary else ():
        if cell.label is not None:
            labels[cell.label] += cell.records
    name = seen.summary.label if seen.summary else deployment.outputs.label or deployment.outputs.prediction
    is_quantity = deployment.problem_type is ProblemType.REGRESSION
    return outcomes_of(monitor, labels or predicted, name=name, predicted=predicted, is_quantity=is_quantity)


def _columns(seen: _Seen, deployment: Deployment) -> list[Observed]:
    found = []
    schema = deployment.schema
    for is_meta, columns in ((False, schema.features), (True, schema.meta)):
        for place, column in enumerate(columns):
            trained = seen.trained.get(column.name)
            if seen.summary is not None and trained is not None and trained.cells:
                source = Source(SourceOrigin.TRAINING, seen.summary.records, seen.summary.processed_at)
                found.append(Observed(column, is_meta, trained, source))
            else:
                found.append(_sampled(seen.sample, column, place, is_meta=is_meta))
    return found


def _sampled(sample: Sequence[SampledRecord], column: Column, place: int, *, is_meta: bool) -> Observed:
    if not sample:
        return Observed(column, is_meta, None, None)
    source = Source(SourceOrigin.PAYLOAD, len(sample), sample[0].logged_at)
    values = [_at(record.meta if is_meta else record.features, place) for record in sample]
    if not is_named(column.name) and len(set(values)) > MOST_VALUES:
        return Observed(column, is_meta, None, source)  # ids, texts and amounts: not worth counting by outcome
    # A boolean and a number are one key to Python, but a column and an outcome have one type each.
    cells = Counter(zip(values, (record.outcome for record in sample), strict=True))
    distribution = Distribution((column.name,), tuple(Cell((value,), label, records) for (value, label), records in cells.items()))
    return Observed(column, is_meta, distribution, source)


def _at(values: Sequence[Scalar | None], place: int) -> Scalar | None:
    return values[place] if place < len(values) else None


def _by_column(distributions: Sequence[Distribution]) -> dict[str, Distribution]:
    """The distribution of each column, that of fewest columns where a ready distribution has several."""
    found: dict[str, Distribution] = {}
    for one in sorted(distributions, key=lambda distribution: len(distribution.columns)):
        for column in one.columns:
            found.setdefault(column, one)
    return found
