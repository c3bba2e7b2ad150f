"""Checked records as lines to copy into the database."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import repeat
from typing import Any

from ...base.clock import floor_to_hour, floor_to_minute
from ...sources.stored.minute_counts import is_counted
from ..writing.copy_text import NULL, copy_text, json_lines
from ..writing.write_batches import FeedbackBatch, PayloadBatch
from .checked_records import CheckedFeedback, CheckedPayload
from .ingest_plan import IngestPlan, StatedTimes


def payload_batch(
    checked: CheckedPayload,
    plan: IngestPlan,
    moments: StatedTimes,
    ids: Sequence[str],
    numbers: Sequence[int],
) -> PayloadBatch:
    """`ids` and `numbers` (ascending) have one per record; absent times become the receipt's."""
    target, no = plan.target, plan.target.no
    id_cells = list(map(copy_text, ids))
    times = _write_moments(checked.times, moments.now)

    placed: Iterable[str] = [f"\t{time}\n" for time in times] if moments.historical else repeat("\n")
    rates: Iterable[str] = [NULL if rate is None else repr(rate) for rate in checked.sample_rates] or repeat(
        NULL
    )
    mitigated: Iterable[str] = json_lines(checked.mitigated) if checked.mitigated else repeat(NULL)
    constant = f"\t{target.schema.version}\t{copy_text(target.model_revision)}\t"
    lines = [
        f"{no}\t{number}\t{record_id}{constant}{time}\t{features}\t{meta}\t{prediction}\t{probability}\t{label}\t{mitigated}\t{rate}{end}"
        for number, record_id, time, features, meta, prediction, probability, label, mitigated, rate, end in zip(
            numbers,
            id_cells,
            times,
            json_lines(checked.features),
            _write_optional(checked.meta),
            json_lines(checked.predictions),
            _write_optional(checked.probabilities),
            _write_optional(checked.labels),
            mitigated,
            rates,
            placed,
            strict=False,  # the end of an ordinary line is repeated without end
        )
    ]
    keys = [
        f"{no}\t{record_id}\t{number}{end}"
        for record_id, number, end in zip(id_cells, numbers, placed, strict=False)
    ]

    stated = checked.times if moments.historical else []
    minutes = Counter(floor_to_minute(time or moments.now) for time in stated)
    return PayloadBatch(
        deployment_no=no,
        row_version=target.row_version,
        numbers=numbers,
        keys="".join(keys).encode(),
        lines="".join(lines).encode(),
        scored_at_sent=[time is not None and not moments.first_counts for time in checked.times],
        historical=moments.historical,
        # Their hours may have been counted already.
        hours=sorted({floor_to_hour(time or moments.now) for time in stated}),
        minutes={minute: records for minute, records in minutes.items() if is_counted(minute, moments.now)},
        source=checked.source,
    )


def feedback_batch(
    checked: CheckedFeedback,
    plan: IngestPlan,
    moments: StatedTimes,
    ids: Sequence[str],
    numbers: Sequence[int],
) -> FeedbackBatch:
    """Like `payload_batch`. A stated prediction is taken for one of the present model revision."""
    no, target = plan.target.no, plan.target
    revision = copy_text(target.model_revision)
    placed = (
        [f"\t{time}\n" for time in _write_moments(checked.times, moments.now)]
        if moments.historical
        else repeat("\n")
    )
    lines = [
        f"{no}\t{number}\t{feedback_id}\t{target.schema.version}\t{features}\t{meta}\t{label}\t{prediction}\t{probability}"
        f"\t{NULL if prediction == NULL else revision}{end}"
        for number, feedback_id, features, meta, label, prediction, probability, end in zip(
            numbers,
            map(copy_text, ids),
            _write_optional(checked.features),
            _write_optional(checked.meta),
            json_lines(checked.labels),
            _write_optional(checked.predictions),
            _write_optional(checked.probabilities),
            placed,
            strict=False,  # as above
        )
    ]
    return FeedbackBatch(
        deployment_no=no,
        row_version=target.row_version,
        numbers=numbers,
        lines="".join(lines).encode(),
        historical=moments.historical,
        source=checked.source,
    )


def _write_optional(values: list[Any]) -> list[str]:
    """None is SQL's NULL: no other value is the bare word null."""
    if values.count(None) == len(values):
        return [NULL] * len(values)
    return [NULL if cell == "null" else cell for cell in json_lines(values)]


def _write_moments(times: list[datetime | None], now: datetime) -> list[str]:
    absent = times.count(None)
    default = now.astimezone(UTC).isoformat() if absent else ""
    if absent == len(times):
        return [default] * absent
    return [default if cell == "null" else cell[1:-1] for cell in json_lines(times)]
