"""Warnings of a receipt: ids that look alike, and labels and predictions that no figure counts."""

from collections import Counter
from collections.abc import Sequence

from ...base.values import Range, Scalar, name_value, nearest
from ...domain.cells import shown
from ...domain.groups import normalize_look
from ...domain.monitor import Outcome
from ...domain.record import ReceiptWarning
from .checked_records import Checked, CheckedPayload
from .ingest_plan import IngestPlan

MAX_WARNINGS = 10


def find_warnings(checked: Checked, plan: IngestPlan) -> Sequence[ReceiptWarning]:
    """Warnings of accepted records."""
    return [*_find_alike_ids(checked.ids), *_find_unlisted(checked, plan)]


def _find_alike_ids(ids: Sequence[str | None]) -> list[ReceiptWarning]:
    """Ids that look like another one of the request: two forms of a letter, a letter of another alphabet,
    a character that cannot be seen.
    """
    texts = dict.fromkeys(record_id for record_id in ids if record_id is not None)
    if all(text.isascii() for text in texts):
        return []
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(normalize_look(text), []).append(text)
    return [
        ReceiptWarning(
            "id",
            len(twins),
            f"{', '.join(map(ascii, twins))} look alike, and are different ids",
        )
        for twins in alike.values()
        if not all(text.isascii() for text in twins) and len(twins) > 1
    ][:MAX_WARNINGS]


def _find_unlisted(checked: Checked, plan: IngestPlan) -> Sequence[ReceiptWarning]:
    """Labels and predictions that are in no outcome list of the monitor, the most frequent first."""
    outcomes = plan.target.outcomes
    classify = plan.classify
    predictions = checked.predictions
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
        ReceiptWarning(name, records, _describe(answer, listed))
        for (name, answer), records in unlisted.most_common(MAX_WARNINGS)
    ]


def _describe(answer: Scalar, listed: dict[str, Scalar]) -> str:
    near = nearest(name_value(answer), listed)
    return f"{shown(answer)} is in neither outcome list" + (
        "" if near is None else f"; did you mean {shown(listed[near])}?"
    )
