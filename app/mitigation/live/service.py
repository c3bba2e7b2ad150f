"""Path of a live request: read, score, copy, score the copies, decide, log both outcomes, answer.

Few copies are sent with the records in one call, more in a second one. Nothing is random and no label is
read.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import partial

import msgspec
from msgspec import Struct

from ...access.principals import Principal
from ...base.clock import monotonic_seconds
from ...base.errors import InvalidInput, NotFound, ScoringFailed, Unavailable
from ...base.strict_json import JsonObject
from ...base.telemetry.prometheus import mitigated_records
from ...base.values import frozen
from ...calls.scoring.live_model import LiveModel, LiveModels
from ...domain.record import CellRefused, Prediction, read_probability, read_scalar
from ...intake.logging.decode_body import INLINE_BYTES, read_bounded
from ...intake.logging.ingest_plan import CheckedPayload
from ...intake.logging.service import Ingestion
from ...intake.writing.write_batches import StaleTarget, WriteOutcome
from ...payloads.codec import JSON, Form
from ...payloads.read_predictions import Answer
from ...payloads.wire import decode_answer
from .live_plan import (
    ActivePlan,
    ActivePlans,
    Case,
    Roles,
    copy_rows,
    decide,
    find_roles,
    find_waiting,
    open_cases,
    pick_early_copies,
    split_answers,
)
from .live_request import RequestRecords, read_request_records
from .substitute import MitigatedAnswer, MitigationResult

PROBABILITY = "mitigated_probability"
LABEL = "mitigated_decoded_target"
CHANGED_BY = "changed_by"
RECORD_ID = "record_id"

FACTS_HEADER = "Evenhand-Mitigation"
"""Facts about an answer whose body has no place for them, as JSON."""

COLUMNS = ("mitigated_prediction", PROBABILITY, LABEL, "changed", CHANGED_BY, "mitigation")
"""Columns of a `MitigatedAnswer`; probability and label only where the model has them."""

_STORED_MEMBERS = ("prediction", "probability", "label", "changed", "changed_by", "mitigation")

MODEL_COLUMN_PREFIX = "model_"
"""Of the model's own columns that have the name of an added one."""

STORED = "stored"
DUPLICATE = "duplicate"
CONFLICT = "conflict"

_encode = msgspec.json.Encoder().encode

_ATTEMPTS = 5
"""Another attempt is made when the deployment changed during the last."""

_PAUSE_SECONDS = 0.05

_RESERVE_SHARE = 0.25
"""Share of the caller's time that is kept for logging the records."""

_MAX_RESERVE_SECONDS = 1.0

_HEAD_START_SHARE = 0.25
"""Share of the model's time after which the records are also sent alone."""

_INLINE_BYTES = 256 * 1024
"""Bodies below it are read on the event loop (a few milliseconds), others in a thread."""


@frozen
class LiveAnswer:
    """`facts` are set where the body has no place for them."""

    body: bytes
    media_type: str
    facts: str | None = None


def write_answer(
    plan: ActivePlan,
    request_records: RequestRecords,
    own: Answer,
    mitigated: Sequence[MitigatedAnswer],
    ids: Sequence[str],
    written: WriteOutcome,
    warning: str | None,
) -> LiveAnswer:
    logged = [STORED] * len(ids)
    for index in written.duplicates:
        logged[index] = DUPLICATE
    for index in written.conflicts:
        logged[index] = CONFLICT
    about: JsonObject = plan.facts | {
        "is_provisional": plan.profile.is_provisional,
        "notes": plan.list_notes(),
        "warning": warning,
    }
    writer = request_records.form or request_records.codec
    if writer is None:
        return LiveAnswer(
            _encode({"predictions": _write_records(plan, own, mitigated, ids, logged)} | about), JSON
        )
    fields = []
    columns = {*own.fields, *COLUMNS}
    for name in own.fields:
        field = name
        if name in COLUMNS:
            while field in columns:
                field = MODEL_COLUMN_PREFIX + field
            columns.add(field)
            about["notes"].append(f"The model's own column {name} is called {field} here.")
        fields.append(field)
    about |= {
        "ids": list(ids),
        "logged": {state: logged.count(state) for state in (STORED, DUPLICATE, CONFLICT)},
    }
    added_columns = dict(
        zip(COLUMNS, zip(*(record.columns for record in mitigated), strict=True), strict=True)
    )
    if all(prediction.probability is None for prediction in own.predictions):
        del added_columns[PROBABILITY]
    if plan.deployment.outputs.label is None:
        del added_columns[LABEL]
    values = [
        [*row, *added] for row, added in zip(own.rows, zip(*added_columns.values(), strict=True), strict=True)
    ]
    if isinstance(writer, Form):
        return LiveAnswer(_encode(writer.write_answer([*fields, *added_columns], values) | about), JSON)
    names = [*fields, *added_columns]
    # Tensors and lines of CSV carry no arrays of names.
    index = names.index(CHANGED_BY)
    for row in values:
        row[index] = _encode(row[index]).decode()
    body = writer.write_answer(names, values)
    decoded = decode_answer(body, object, expected="JSON") if writer.accept == JSON else None
    if isinstance(decoded, dict):
        return LiveAnswer(_encode(decoded | about), JSON)
    # Without members of its own the body has no place for more than rows.
    del about["ids"]
    body = writer.write_answer(
        [*names, RECORD_ID], [[*row, record_id] for row, record_id in zip(values, ids, strict=True)]
    )
    return LiveAnswer(body, writer.accept.split(",")[0], json.dumps(about))


def _write_records(
    plan: ActivePlan,
    own: Answer,
    mitigated: Sequence[MitigatedAnswer],
    ids: Sequence[str],
    logged: Sequence[str],
) -> list[JsonObject]:
    known_names = {*plan.deployment.outputs.names, *plan.model.columns}
    # The model's further columns: neither outputs that the deployment names nor echoed inputs.
    other_outputs = {name: index for index, name in enumerate(own.fields) if name not in known_names}
    records = []
    for row_id, prediction, record, row, state in zip(
        ids, own.predictions, mitigated, own.rows, logged, strict=True
    ):
        written = {
            "id": row_id,
            "prediction": prediction.prediction,
            "probability": prediction.probability,
            "label": prediction.label,
            **dict(zip(COLUMNS, record.columns, strict=True)),
            "logged": state,
        }
        if other_outputs:
            written["other_outputs"] = {name: row[at] for name, at in other_outputs.items()}
        records.append(written)
    return records


class LiveRequest(Struct, frozen=True, kw_only=True):
    """Body of a request and how long its answer may take; `began` is by the monotonic clock."""

    body: bytes
    encoding: str
    payload_format: str | None = None
    began: float
    timeout_seconds: float

    @property
    def deadline(self) -> float:
        return self.began + self.timeout_seconds

    @property
    def model_deadline(self) -> float:
        return self.deadline - min(_RESERVE_SHARE * self.timeout_seconds, _MAX_RESERVE_SECONDS)


class ActiveMitigation:
    """Mitigation of live requests in one process. Belongs to one event loop."""

    def __init__(self, ingestion: Ingestion, plans: ActivePlans, models: LiveModels) -> None:
        self._ingestion = ingestion
        self._plans = plans
        self._models = models

    async def stop(self) -> None:
        await self._models.close()

    async def answer(
        self, deployment_id: str, request: LiveRequest, *, caller: Principal, now: datetime
    ) -> LiveAnswer:
        """Returns mitigated answers in the form in which the records came, after both outcomes are stored
        durably.

        Raises:
            NotFound: there is no such deployment, as far as the caller may know.
            Conflict: it has no endpoint or no monitor, or nothing of it is mitigated.
            InvalidInput, TooLarge, UnsupportedMediaType: the request cannot be read; nothing was sent to the
                model and nothing stored.
            ScoringFailed: the model gave no usable answer to the records themselves; nothing was stored.
            Unavailable: they could not be stored in time, or it is unknown whether they were; send the same
                records again.
        """
        try:
            async with asyncio.timeout(request.deadline - monotonic_seconds()):
                if not caller.sees((await self._ingestion.plan(deployment_id)).target.no):
                    raise NotFound(
                        "deployment", deployment_id
                    )  # the same words as for an id that does not exist
                for _ in range(_ATTEMPTS):
                    plan = await self._plans.find_plan(deployment_id)
                    try:
                        return await self._answer(plan, request, now)
                    except StaleTarget:
                        self._plans.forget(deployment_id)
                        await asyncio.sleep(_PAUSE_SECONDS)
        except TimeoutError as error:
            raise Unavailable(
                "The time was too short. Whether the records were stored in it is not known: send them "
                "again with their ids."
            ) from error
        raise Unavailable("The deployment is being changed or deleted. Send the records again in a moment.")

    async def _answer(self, plan: ActivePlan, request: LiveRequest, now: datetime) -> LiveAnswer:
        read = partial(
            read_request_records,
            request.body,
            request.encoding,
            plan.records,
            plan.model.endpoint,
            request.payload_format,
        )
        try:
            if len(request.body) < _INLINE_BYTES and not request.encoding:
                request_records = read(INLINE_BYTES)
            else:
                request_records = await asyncio.to_thread(read_bounded, read)
        except InvalidInput:
            # A refusal must not rest on a schema that has changed since the plan was read.
            if await self._ingestion.read_current_plan(plan.deployment.id) is not plan.records:
                raise StaleTarget([]) from None
            raise
        async with self._models.using(plan.deployment.no, plan.model) as model:
            roles = find_roles(plan, request_records)
            answer, copied = await _score(plan, request_records, roles, model, request)
            cases = open_cases(plan, request_records, roles, answer.predictions)
            early = [index for index, case in enumerate(cases) if case.decided is None and index in copied]
            decide(plan, [cases[index] for index in early], [copied[index] for index in early])
            warning = await _mitigate(plan, find_waiting(cases), model, request.model_deadline)
        mitigated = [case.decided for case in cases if case.decided is not None]
        checked = build_payload(plan, request_records, answer.predictions, mitigated)
        ids, outcome = await self._ingestion.store(checked, plan.records, now=now)
        for result, count in Counter(record.result for record in mitigated).items():
            mitigated_records.labels(result.value).inc(count)
        return write_answer(plan, request_records, answer, mitigated, ids, outcome, warning)


async def _score(
    plan: ActivePlan,
    request_records: RequestRecords,
    roles: Sequence[Roles],
    model: LiveModel,
    request: LiveRequest,
) -> tuple[Answer, dict[int, Sequence[Prediction]]]:
    """The answer to the records and, if it came from the call with their copies, those to the copies by
    record.

    If that call fails, or takes long, the records are also sent alone, because the copies may be at fault.
    The first answer counts: the call with the copies is not cut short.
    """
    early = pick_early_copies(plan, request_records, roles)
    deadline = request.model_deadline
    if not early:
        return await model.score(request_records.features, deadline=deadline), {}
    rows = [
        row for index, copies in early.items() for row in copies.list_rows(request_records.features[index])
    ]
    joint_call = asyncio.ensure_future(
        model.score([*request_records.features, *rows], deadline=deadline, attempts=1)
    )
    calls = [joint_call]
    try:
        await asyncio.wait(calls, timeout=_HEAD_START_SHARE * (deadline - monotonic_seconds()))
        if not joint_call.done() or joint_call.exception() is not None:
            calls.append(asyncio.ensure_future(model.score(request_records.features, deadline=deadline)))
        winner = calls[-1]
        waiting = set(calls)
        while waiting:
            finished, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            answered = [call for call in calls if call in finished and call.exception() is None]
            if answered:
                winner = answered[0]
                break
    finally:
        # Awaited after it was cancelled: asyncio logs an exception that nobody reads as an error.
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
    answer = winner.result()
    count = len(request_records)
    if winner is not joint_call:
        return answer, {}
    return Answer(answer.fields, answer.rows[:count], answer.predictions[:count]), dict(
        zip(early, split_answers(answer.predictions[count:], early.values()), strict=True)
    )


async def _mitigate(
    plan: ActivePlan, waiting: Sequence[Case], model: LiveModel, deadline: float
) -> str | None:
    """Decides the waiting cases by a second call of the model; returns a warning if it fails."""
    if not waiting:
        return None
    rows = await asyncio.to_thread(copy_rows, waiting)
    try:
        answer = await model.score(rows, deadline=deadline)
    except ScoringFailed as error:
        for case in waiting:
            case.decided = MitigatedAnswer(case.own, MitigationResult.NOT_SCORED)
        return (
            f"The copies could not be scored, so {len(waiting):,} of the answers are the model's own. "
            f"{error.quoting}"
        )
    answers = split_answers(answer.predictions, [case.copies for case in waiting])
    await asyncio.to_thread(decide, plan, waiting, answers)
    return None


def build_payload(
    plan: ActivePlan,
    request_records: RequestRecords,
    own_predictions: Sequence[Prediction],
    mitigated: Sequence[MitigatedAnswer],
) -> CheckedPayload:
    check = plan.records.prediction
    try:
        predictions = [check(own.prediction) for own in own_predictions]
    except CellRefused as error:
        raise ScoringFailed(
            f"The model's endpoint gave a prediction that this deployment cannot have: it {error}."
        ) from error
    probabilities = [
        list(own.probability) if isinstance(own.probability, tuple) else own.probability
        for own in own_predictions
    ]
    count = len(request_records)
    return CheckedPayload(
        sent=count,
        indexes=list(range(count)),
        ids=request_records.ids,
        times=[None] * count,
        features=list(request_records.features),
        meta=list(request_records.meta),
        labels=[None if own.label is None else read_scalar(own.label) for own in own_predictions],
        predictions=predictions,
        probabilities=[None if value is None else read_probability(value) for value in probabilities],
        mitigated=[
            dict(zip(_STORED_MEMBERS, record.columns, strict=True)) | plan.facts for record in mitigated
        ],
    )
