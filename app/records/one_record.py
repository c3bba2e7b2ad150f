"""One payload record with its counterfactuals."""

from sqlalchemy.orm import Session

from ..base.errors import InvalidInput, require_present
from ..base.values import Range, frozen_by_name, shown_value
from ..checks.copies.copy_outcomes import CopyTarget
from ..checks.views.view_source import read_window_of_check
from ..deployments.training.queries import Donors, read_donors
from ..deployments.training.unseen_groups import find_donors_of_groups
from ..domain.deployment import RecordSchema
from ..domain.groups import Group
from ..sources.arrays.read_records import convert_to_type
from ..sources.stored.copy_answers import TargetKey
from ..sources.stored.record_queries import StoredRecord, find_record, read_copies
from .bodies import CounterfactualOut, ObservedOut
from .feedback.queries import find_feedback
from .record_list import (
    OUTCOME_WORDS,
    CopyKind,
    Lens,
    RecordSummary,
    compare_outcomes,
    open_lens,
    summarise_records,
)

DONORS_REPLACED = (
    "The training data that the values of the copy were taken from have been replaced or deleted."
)


@frozen_by_name
class RecordDetails:
    """One record for people: its summary, its label, and its copies, those of present figures first."""

    summary: RecordSummary
    feedback: ObservedOut | None
    counterfactuals: tuple[CounterfactualOut, ...]


def read_record_details(
    session: Session, deployment_no: int, record_id: str, *, check_id: str | None = None
) -> RecordDetails:
    """Raises NotFound of the record or the check, InvalidInput of a check that read no records."""
    record = require_present(find_record(session, deployment_no, record_id), "payload record", record_id)
    lens = open_lens(session, deployment_no)
    window = read_window_of_check(session, deployment_no, check_id)
    (summary,) = summarise_records(session, deployment_no, [record], lens, window)
    counterfactuals = _read_counterfactuals(session, deployment_no, record, lens)
    counterfactuals.sort(
        key=lambda copied: (not copied.in_present_figures, copied.attribute, copied.group, copied.draw)
    )
    return RecordDetails(
        summary=summary,
        feedback=_read_observed(session, deployment_no, record_id, lens),
        counterfactuals=tuple(counterfactuals),
    )


def _read_observed(session: Session, deployment_no: int, record_id: str, lens: Lens) -> ObservedOut | None:
    feedback = find_feedback(session, deployment_no, record_id)
    if feedback is None:
        return None
    outcome = None if lens.monitor is None else lens.monitor.outcomes.classify(feedback.label)
    return ObservedOut.from_object(
        feedback, label=shown_value(feedback.label), outcome=OUTCOME_WORDS.get(outcome)
    )


def _read_counterfactuals(
    session: Session, deployment_no: int, record: StoredRecord, lens: Lens
) -> list[CounterfactualOut]:
    # Copies under another revision or schema are counterfactuals of another answer.
    version = (record.model_revision, record.schema_version)
    kinds = {
        no: lens.kinds[no]
        for no, key in lens.targets.items()
        if (key.model_revision, key.schema_version) == version
    }
    copies = read_copies(session, [record.record_no], kinds)
    meta_attributes = {
        kinds[copy.target_no].attribute for copy in copies if kinds[copy.target_no].digest is not None
    }
    donors = read_donors(session, deployment_no, meta_attributes) if meta_attributes else {}
    roles = {group.attribute: group.role for group in lens.find_groups(record)}
    schema = lens.schemas[record.schema_version]
    outcome_of_record = lens.classify(record)
    counterfactuals = []
    for copy in copies:
        kind = kinds[copy.target_no]
        outcome = lens.classify(copy)
        role_of_record = roles.get(kind.attribute)
        target = rebuild_copy_target(kind, lens.targets[copy.target_no], schema, donors.get(kind.attribute))
        values = target.draw_changes(record.record_id, copy.draw) if isinstance(target, CopyTarget) else None
        counterfactuals.append(
            CounterfactualOut.from_object(
                kind,
                draw=copy.draw,
                values=values,
                values_reason=target if isinstance(target, str) else None,
                prediction=shown_value(copy.prediction),
                probability=copy.probability,
                label=shown_value(copy.label),
                outcome=OUTCOME_WORDS.get(outcome),
                change=compare_outcomes(outcome_of_record, outcome),
                in_present_figures=kind.role is not None and role_of_record not in (None, kind.role),
            )
        )
    return counterfactuals


def rebuild_copy_target(
    kind: CopyKind, key: TargetKey, schema: RecordSchema, donors: Donors | None
) -> CopyTarget | str:
    """Rebuilds the change that a copy made; where it cannot be rebuilt, returns the reason in a sentence.

    `schema` is that of the copy, `donors` are those of the present training data.
    """
    column = schema.column(kind.attribute)
    if column is None:
        return f"{kind.attribute} is no column of the schema that the record was logged under."
    donors_of_group = None
    if kind.digest is not None:
        # Other donors would lend other values: the copy knows its own by their digest only.
        if donors is None or donors.digest != kind.digest:
            return DONORS_REPLACED
        # A role does not change which donors fit.
        group = Group(kind.group, kind.role or "reference", kind.value)
        try:
            (donors_of_group,) = find_donors_of_groups(donors, [group], column, schema, kind.donated)
        except InvalidInput:
            return (
                "The schema that the record was logged under and the training data do not both have every "
                f"feature that was changed with {kind.attribute}, of the same type."
            )
        if not donors_of_group.rows:
            return f"The training data keep no record of the group {kind.group} of {kind.attribute}."
    value = kind.value if isinstance(kind.value, Range) else convert_to_type(kind.value, column.type)
    return CopyTarget(column, value, key.draws, key.seed, donors_of_group)
