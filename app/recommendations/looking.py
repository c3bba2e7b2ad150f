"""The data that recommendations look at."""

from collections import Counter
from collections.abc import Sequence

from sqlalchemy.orm import Session

from ..domain.deployments import Deployment, ProblemType, StorageKind
from ..domain.monitors import Monitor
from ..domain.outcomes import OutcomeRule
from ..domain.training_data import Cell, Distribution, TrainingSummary
from ..domain.values import Range, Scalar
from ..store.records.newest import SampledRecord, newest_records
from ..store.training.training_data import distributions_of, training_summary_of
from .detecting import is_named
from .observed import CountsOrigin, Observed, Source
from .outcomes import OutcomesOrigin, RecommendedOutcomes, determine_outcomes
from .recommending import Recommended, recommend
from .values import MAX_VALUES


def recommend_for(session: Session, deployment: Deployment, monitor: Monitor | None, sent: OutcomeRule | None = None) -> Recommended:
    """Returns the recommended monitor; with `sent` outcomes, rates are counted by these."""
    summary = training_summary_of(session, deployment.no)
    distributions = distributions_of(session, deployment.no)
    sample = newest_records(session, deployment.no, deployment.schema.version)

    if sent is not None:
        outcomes = RecommendedOutcomes(sent, OutcomesOrigin.SENT, is_certain=True, evidence="they were sent")
    else:
        predicted: Counter[Scalar | Range] = Counter(record.outcome for record in sample if record.outcome is not None)
        labels: Counter[Scalar | Range] = Counter()
        for cell in summary.labels.cells if summary else ():
            if cell.label is not None:
                labels[cell.label] += cell.records
        name = summary.label if summary else deployment.outputs.label or deployment.outputs.prediction
        is_quantity = deployment.problem_type is ProblemType.REGRESSION
        outcomes = determine_outcomes(monitor, labels or predicted, name=name, predicted=predicted, is_quantity=is_quantity)

    columns = _observe(deployment, summary, distributions, sample)
    watched = {attribute.feature for attribute in monitor.attributes} if monitor else set()
    return recommend(columns, outcomes, watched, strata=monitor.strata if monitor else None)


def _observe(
    deployment: Deployment, summary: TrainingSummary | None, distributions: Sequence[Distribution], sample: Sequence[SampledRecord]
) -> list[Observed]:
    trained: dict[str, Distribution] = {}
    for distribution in sorted(distributions, key=lambda one: len(one.columns)):
        for name in distribution.columns:
            trained.setdefault(name, distribution)

    found = []
    schema = deployment.schema
    columns = [(False, *one) for one in enumerate(schema.features)] + [(True, *one) for one in enumerate(schema.meta)]
    for is_meta, place, column in columns:
        if column.storage is not None and column.storage.kind is StorageKind.PSEUDONYM:
            continue  # nobody could say what its groups are
        counted = trained.get(column.name)
        if summary is not None and counted is not None and counted.cells:
            source = Source(CountsOrigin.TRAINING, summary.records, summary.processed_at)
            found.append(Observed(column, is_meta, counted, source))
            continue
        if not sample:
            found.append(Observed(column, is_meta, None, None))
            continue
        of_records = [record.meta if is_meta else record.features for record in sample]
        values = [one[place] if place < len(one) else None for one in of_records]
        observed = None
        # Not of ids, texts and amounts, which are not worth counting by outcome.
        if is_named(column.name) or len(set(values)) <= MAX_VALUES:
            # A boolean and a number are one key to Python, but a column and an outcome have one type each.
            cells = Counter(zip(values, (record.outcome for record in sample), strict=True))
            observed = Distribution((column.name,), tuple(Cell((value,), label, records) for (value, label), records in cells.items()))
        found.append(Observed(column, is_meta, observed, Source(CountsOrigin.PAYLOAD, len(sample), sample[0].logged_at)))
    return found
