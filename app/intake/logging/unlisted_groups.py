"""Warnings of labels and predictions that no figure counts."""

from collections import Counter
from collections.abc import Sequence

from ...base.values import Range, Scalar, name_value, nearest
from ...domain.cells import shown
from ...domain.monitor import Outcome
from ...domain.record import UnlistedAnswer
from .checked_records import Checked, CheckedPayload
from .ingest_plan import IngestPlan

MAX_WARNINGS = 10


def find_unlisted(checked: Checked, plan: IngestPlan) -> Sequence[UnlistedAnswer]:
    """Labels and predictions of accepted records that are in no outcome list of the monitor, the most
    frequent first.
    """
    outcomes, classify, predictions = plan.target.outcomes, plan.classify, checked.predictions
    if outcomes is None or classify is None:
        return ()
    if isinstance(checked, CheckedPayload):
        # The decoded form counts, where there is one.
        predictions = [
            prediction for prediction, label in zip(predictions, checked.labels, strict=True) if label is None
        ]
    answers = [("label", label) for label in checked.labels] + [
        ("prediction", prediction) for prediction in predictions
    ]
    unlisted = Counter(
        (name, answer)
        for name, answer in answers
        if answer is not None and classify(answer) is Outcome.UNCLASSIFIED
    )
    listed = {
        name_value(value): value
        for value in (*outcomes.favourable, *outcomes.unfavourable)
        if not isinstance(value, Range)
    }
    return [
        UnlistedAnswer(name, records, _describe(answer, listed))
        for (name, answer), records in unlisted.most_common(MAX_WARNINGS)
    ]


def _describe(answer: Scalar, listed: dict[str, Scalar]) -> str:
    near = nearest(name_value(answer), listed)
    return f"{shown(answer)} is in neither outcome list" + (
        "" if near is None else f"; did you mean {shown(listed[near])}?"
    )
