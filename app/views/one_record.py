"""One payload record: what was logged, what came of it, and its counterfactuals side by side."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from app.checks.donors import GroupDonors, donors_of_groups
from app.checks.grouping import typed_value
from app.checks.perturbation import CopyTarget
from app.domain.deployments import Column, RecordSchema
from app.domain.groups import Group, Role
from app.domain.training_data import Donors
from app.domain.values import Range, Scalar
from app.errors import InvalidInput, NotFound
from app.store.correlations import donors_of
from app.store.counterfactuals import TargetKey
from app.store.transactions import StoredCopy, StoredRecord, copies_of, feedback_of, record_of
from app.views.check_window import window_of_check
from app.views.record_lens import WORDS, Change, CopyKind, Lens, OutcomeWord, change_of, open_lens
from app.views.transactions import RecordSummary, summaries

DONORS_REPLACED = "The training data that lent the copy its values were replaced since."


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfactual:
    """One copy of a record and the model's answer to it.

    `values` are what stands in the changed features; None where that is no longer known. `is_present` is False for copies that the
    present monitor does not ask for, which are in none of its figures any more; `role` is then None.
    """

    attribute: str
    group: str
    role: Role | None
    draw: int
    values: Mapping[str, Scalar | None] | None
    values_reason: str | None
    prediction: Any
    probability: Any
    label: Any
    outcome: OutcomeWord | None
    change: Change | None
    is_present: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """The label that was observed of the record, and the outcome it stands for."""

    label: Any
    outcome: OutcomeWord | None
    logged_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDetails:
    """One record with all that is known of it."""

    summary: RecordSummary
    feedback: Feedback | None
    counterfactuals: tuple[Counterfactual, ...]


def record_details(session: Session, deployment_no: int, record_id: str, *, check_id: str | None = None) -> RecordDetails:
    """The record of that id, and in which part of the check's window it lies if a check is named.

    Raises:
        NotFound: there is no such record or check.
        InvalidInput: the check read no records.
    """
    record = record_of(session, deployment_no, record_id)
    if record is None:
        raise NotFound("payload record", record_id)
    lens = open_lens(session, deployment_no)
    window = None if check_id is None else window_of_check(session, deployment_no, check_id)
    (summary,) = summaries(session, deployment_no, [record], lens, window)
    feedback = feedback_of(session, deployment_no, record_id)
    return RecordDetails(
        summary=summary,
        feedback=None if feedback is None else _feedback(lens, *feedback),
        counterfactuals=tuple(_counterfactuals(session, deployment_no, record, lens)),
    )


def _feedback(lens: Lens, label: Any, logged_at: datetime) -> Feedback:  # noqa: ANN401 - as it was logged
    outcome = None if lens.monitor is None else WORDS[lens.monitor.outcomes.classify(label)]
    return Feedback(label=label, outcome=outcome, logged_at=logged_at)


def _counterfactuals(session: Session, deployment_no: int, record: StoredRecord, lens: Lens) -> list[Counterfactual]:
    """Those of the record's own model revision and schema version, by attribute, group and draw."""
    own = (record.model_revision, record.schema_version)
    kinds = {no: lens.kinds[no] for no, key in lens.targets.items() if (key.model_revision, key.schema_version) == own}
    copies = copies_of(session, [record.record_no], kinds)
    donated = {kinds[copy.target_no].attribute for copy in copies if kinds[copy.target_no].digest is not None}
    donors = donors_of(session, deployment_no, donated) if donated else {}
    found = [_counterfactual(copy, record, lens, donors) for copy in copies]
    return sorted(found, key=lambda one: (not one.is_present, one.attribute, one.group, one.draw))


def _counterfactual(copy: StoredCopy, record: StoredRecord, lens: Lens, donors: Mapping[str, Donors]) -> Counterfactual:
    kind, key, schema = lens.kinds[copy.target_no], lens.targets[copy.target_no], lens.schemas[record.schema_version]
    outcome = lens.outcome(copy)
    values = _values(kind, key, schema, donors, (record.record_id, copy.draw))
    own_role = next((group.role for group in lens.groups(record) if group.attribute == kind.attribute), None)
    return Counterfactual(
        attribute=kind.attribute,
        group=kind.group,
        role=kind.role,
        draw=copy.draw,
        values=values,
        values_reason=DONORS_REPLACED if values is None else None,
        prediction=copy.prediction,
        probability=copy.probability,
        label=copy.label,
        outcome=None if outcome is None else WORDS[outcome],
        change=change_of(lens.outcome(record), outcome),
        is_present=kind.role is not None and own_role not in (None, kind.role),
    )


def _values(
    kind: CopyKind, key: TargetKey, schema: RecordSchema, donors: Mapping[str, Donors], drawn: tuple[str, int]
) -> Mapping[str, Scalar | None] | None:
    """What the check put into the copy, worked out as it did."""
    column = schema.column(kind.attribute)
    if column is None:
        return None
    lent = None
    if kind.digest is not None:
        lent = _lent(kind, column, schema, donors.get(kind.attribute))
        if lent is None:
            return None
    value = kind.value if isinstance(kind.value, Range) else typed_value(kind.value, column.type)
    return CopyTarget(column, value, key.draws, key.seed, lent).changes(*drawn)


def _lent(kind: CopyKind, column: Column, schema: RecordSchema, donors: Donors | None) -> GroupDonors | None:
    if donors is None or donors.digest != kind.digest:
        return None
    group = Group(kind.group, kind.role or "reference", kind.value)
    try:
        (lent,) = donors_of_groups(donors, [group], column, schema, kind.donated)
    except InvalidInput:  # the schema gives one of the features another type than the donors have
        return None
    return lent if lent.rows else None
