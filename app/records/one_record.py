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
from ..sources.arrays.read_records import typed_value
from ..sources.stored.copy_answers import TargetKey
from ..sources.stored.record_queries import find_record, read_copies
from .bodies import CounterfactualOut, ObservedOut
from .feedback.queries import find_feedback
from .record_list import (
    OUTCOME_WORDS,
    CopyKind,
    RecordSummary,
    compare_outcomes,
    open_lens,
    summarise_records,
)

DONORS_REPLACED = "The training data that the values of the copy were taken from have been replaced."


@frozen_by_name
class RecordDetails:
    summary: RecordSummary
    feedback: ObservedOut | None
    counterfactuals: tuple[CounterfactualOut, ...]


def read_record_details(
    session: Session, deployment_no: int, record_id: str, *, check_id: str | None = None
) -> RecordDetails:
    """Reads one record for people. Raises NotFound of the record or the check, InvalidInput of a check that
    read no records.
    """
    record = require_present(find_record(session, deployment_no, record_id), "payload record", record_id)
    lens = open_lens(session, deployment_no)
    window = read_window_of_check(session, deployment_no, check_id)
    (summary,) = summarise_records(session, deployment_no, [record], lens, window)
    feedback = None
    if (label_row := find_feedback(session, deployment_no, record_id)) is not None:
        classified = (
            None if lens.monitor is None else OUTCOME_WORDS[lens.monitor.outcomes.classify(label_row.label)]
        )
        feedback = ObservedOut.from_object(label_row, label=shown_value(label_row.label), outcome=classified)

    # Copies under another revision or schema are counterfactuals of another answer.
    version = (record.model_revision, record.schema_version)
    kinds = {
        no: lens.kinds[no]
        for no, key in lens.targets.items()
        if (key.model_revision, key.schema_version) == version
    }
    copies = read_copies(session, [record.record_no], kinds)
    donated = {kinds[copy.target_no].attribute for copy in copies if kinds[copy.target_no].digest is not None}
    donors = read_donors(session, deployment_no, donated) if donated else {}
    roles = {group.attribute: group.role for group in lens.groups(record)}
    schema = lens.schemas[record.schema_version]
    counterfactuals = []
    for copy in copies:
        kind = lens.kinds[copy.target_no]
        key = lens.targets[copy.target_no]
        outcome = lens.outcome(copy)
        own_role = roles.get(kind.attribute)
        target = _build_copy_target(kind, key, schema, donors.get(kind.attribute))
        counterfactuals.append(
            CounterfactualOut.from_object(
                kind,
                draw=copy.draw,
                values=None if target is None else target.draw_changes(record.record_id, copy.draw),
                values_reason=DONORS_REPLACED if target is None else None,
                prediction=shown_value(copy.prediction),
                probability=copy.probability,
                label=shown_value(copy.label),
                outcome=OUTCOME_WORDS.get(outcome),
                change=compare_outcomes(lens.outcome(record), outcome),
                in_present_figures=kind.role is not None and own_role not in (None, kind.role),
            )
        )
    counterfactuals.sort(
        key=lambda copied: (not copied.in_present_figures, copied.attribute, copied.group, copied.draw)
    )
    return RecordDetails(summary=summary, feedback=feedback, counterfactuals=tuple(counterfactuals))


def _build_copy_target(
    kind: CopyKind, key: TargetKey, schema: RecordSchema, donors: Donors | None
) -> CopyTarget | None:
    column = schema.column(kind.attribute)
    if column is None:
        return None
    donors_of_group = None
    if kind.digest is not None:
        # Other donors would lend other values: those of the check are known by their digest only.
        if donors is None or donors.digest != kind.digest:
            return None
        group = Group(kind.group, kind.role or "reference", kind.value)
        try:
            (donors_of_group,) = find_donors_of_groups(donors, [group], column, schema, kind.donated)
        except InvalidInput:  # the schema gives one of the features another type than the donors have
            return None
        if not donors_of_group.rows:
            return None
    value = kind.value if isinstance(kind.value, Range) else typed_value(kind.value, column.type)
    return CopyTarget(column, value, key.draws, key.seed, donors_of_group)
