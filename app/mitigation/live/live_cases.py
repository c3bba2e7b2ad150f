"""Live records in progress: what the model's own answer decides, and which need copies."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...domain.mitigation import Mode
from ...domain.monitor import Outcome
from ...domain.record import Prediction
from ..rule import known_scores, write_probabilities
from .live_plan import ActivePlan
from .live_request import Asked
from .substitute import CopiedRecord, CopySet, Mitigated, MitigationResult, Row

Roles = dict[str, str]
"""Of one record's group by attribute, in the order of the monitor's."""

FEW_COPIES = 20
"""So many are always scored together with the records; otherwise as many as there are records."""

NO_COPIES = CopySet((), (), (), 0)


@dataclass
class Case:
    row: Row
    own: Prediction
    outcome: Outcome
    attributes: tuple[str, ...]
    decided: Mitigated | None = None
    copies: CopySet = NO_COPIES


def find_roles(plan: ActivePlan, asked_records: Asked) -> list[Roles]:
    roles_of: list[Roles] = [{} for _ in asked_records.features]
    features, meta = (
        [column.name for column in columns]
        for columns in (plan.deployment.schema.features, plan.deployment.schema.meta)
    )
    for attribute in plan.attributes:
        values: list[Any]
        if attribute.name in features:
            values = [row[features.index(attribute.name)] for row in asked_records.features]
        else:
            values = [None if row is None else row[meta.index(attribute.name)] for row in asked_records.meta]
        for roles, group in zip(roles_of, attribute.listed.find(values), strict=True):
            if group is not None:
                _, roles[attribute.name] = group
    return roles_of


def pick_early_copies(plan: ActivePlan, asked_records: Asked, roles: Sequence[Roles]) -> dict[int, CopySet]:
    """Few enough to be scored together with the records.

    A separate call takes longer than scoring some needless copies. None where a chooser first needs the
    model's answers.
    """
    if plan.chooser is not None:
        return {}
    copies_of = {}
    for position, of_record in enumerate(roles):
        copies = plan.copy_sets.of(_list_monitored(of_record))
        if copies is not None:
            copies_of[position] = copies
    count = sum(copies.count for copies in copies_of.values())
    page_size = plan.model.endpoint.page_size
    return (
        copies_of
        if count <= max(len(asked_records), FEW_COPIES) and len(asked_records) + count <= page_size
        else {}
    )


def open_cases(
    plan: ActivePlan, asked_records: Asked, roles: Sequence[Roles], predictions: Sequence[Prediction]
) -> list[Case]:
    cases = []
    for row, prediction, of_record in zip(asked_records.features, predictions, roles, strict=True):
        case = Case(
            row, prediction, plan.decider.classify(prediction.outcome_value), _list_monitored(of_record)
        )
        if not case.attributes:
            case.decided = Mitigated(
                prediction, MitigationResult.REFERENCE if of_record else MitigationResult.IN_NO_GROUP
            )
        elif case.outcome is Outcome.UNCLASSIFIED:
            case.decided = Mitigated(prediction, MitigationResult.UNCLASSIFIED)
        elif case.outcome is Outcome.FAVOURABLE and plan.settings.mode is Mode.LIFT_ONLY:
            case.decided = Mitigated(prediction, MitigationResult.NOT_NEEDED)
        else:
            case.copies = plan.copy_sets.of(case.attributes) or NO_COPIES
            case.decided = None if case.copies.count else Mitigated(prediction, MitigationResult.UNDECIDED)
        cases.append(case)

    # A chooser knows unfavourable records only; the others get their copies.
    asked_about = [case for case in find_waiting(cases) if case.outcome is Outcome.UNFAVOURABLE]
    if plan.chooser is not None and asked_about:
        scores = known_scores(
            write_probabilities(case.own.probability for case in asked_about), plan.profile.reading
        )
        chosen = plan.chooser.choose(
            [case.row for case in asked_about], scores, [case.attributes for case in asked_about]
        )
        for case, is_chosen in zip(asked_about, chosen, strict=True):
            case.decided = None if is_chosen else Mitigated(case.own, MitigationResult.NOT_CHOSEN)
    return cases


def _list_monitored(roles: Roles) -> tuple[str, ...]:
    return tuple(attribute for attribute, role in roles.items() if role == "monitored")


def find_waiting(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if case.decided is None]


def copy_rows(waiting: Sequence[Case]) -> list[Row]:
    return [row for case in waiting for row in case.copies.rows(case.row)]


def split_answers(answers: Sequence[Prediction], copies: Iterable[CopySet]) -> list[Sequence[Prediction]]:
    answer_sets = []
    start = 0
    for copy_set in copies:
        answer_sets.append(answers[start : start + copy_set.count])
        start += copy_set.count
    return answer_sets


def decide(plan: ActivePlan, waiting: Sequence[Case], answers: Sequence[Sequence[Prediction]]) -> None:
    records = [
        CopiedRecord(case.own, case.outcome, case.copies, case_answers)
        for case, case_answers in zip(waiting, answers, strict=True)
    ]
    for case, mitigated in zip(waiting, plan.decider.substitute(records), strict=True):
        case.decided = mitigated
