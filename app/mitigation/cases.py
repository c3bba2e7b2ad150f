"""The records of a live request on their way: their groups, what the model's own answer decides, and which need copies. Asks no model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from app.domain.mitigation import Mode
from app.domain.outcomes import Outcome
from app.domain.records import Prediction
from app.mitigation.active_plan import ActivePlan
from app.mitigation.copies import CopySet, Row
from app.mitigation.debiasing import Debiased, Debiasing, held_to_thresholds
from app.mitigation.deciding import favourable_score
from app.mitigation.requests import Asked

Groups: TypeAlias = list[tuple[str, str, str]]
"""The groups that one record is in: attribute, role and label."""

FEW_COPIES = 20
"""Copies that are always few enough to be scored together with the records; otherwise as many as there are records."""


@dataclass(slots=True)
class Case:
    """One record: its outcome, the attributes of which it has a monitored value with the group's label, and what is decided of it."""

    row: Row
    own: Prediction
    outcome: Outcome
    monitored: tuple[tuple[str, str], ...]
    decided: Debiased | None = None
    copies: CopySet | None = None

    @property
    def attributes(self) -> tuple[str, ...]:
        """Those of which it has a monitored value."""
        return tuple(attribute for attribute, _ in self.monitored)


def groups_of(plan: ActivePlan, asked: Asked) -> list[Groups]:
    """The groups that each record is in."""
    found: list[Groups] = [[] for _ in asked.features]
    for attribute in plan.attributes:
        name = attribute.column.name
        for groups, group in zip(found, attribute.groups_of(_values(plan, asked, name)), strict=True):
            if group is not None:
                groups.append((name, *group))
    return found


def copied_at_once(plan: ActivePlan, asked: Asked, groups: Sequence[Groups]) -> dict[int, CopySet]:
    """The copies, by record, that are few enough to be scored together with the records, whatever the model will say of these.

    Some of them may turn out not to have been needed; a call of its own for the others takes longer than scoring those. None where
    the mode needs none, or where a chooser first has to see what the model says.
    """
    if plan.settings.mode is Mode.PARITY or plan.chooser is not None:
        return {}
    sets = ((place, plan.copy_sets.of(_monitored(of_record))) for place, of_record in enumerate(groups) if _monitored(of_record))
    found = {place: copies for place, copies in sets if copies is not None}
    count = sum(copies.count for copies in found.values())
    page_size = plan.model.endpoint.page_size
    return found if count <= max(len(asked), FEW_COPIES) and len(asked) + count <= page_size else {}


def cases_of(plan: ActivePlan, asked: Asked, groups: Sequence[Groups], predictions: Sequence[Prediction]) -> list[Case]:
    """The records with the model's answers; decided, but for those that need copies."""
    cases = [_case(plan, row, own, of_record) for row, own, of_record in zip(asked.features, predictions, groups, strict=True)]
    _leave_out(plan, cases)
    return cases


def decide_at_once(plan: ActivePlan, cases: Sequence[Case], answers: Mapping[int, Sequence[Prediction]]) -> None:
    """Decides the rest of the cases by answers to copies that are there already, by record."""
    for place, case in enumerate(cases):
        if case.decided is None and case.copies is not None:
            case.decided = plan.decider.substituted(case.own, case.outcome, case.copies, answers[place])


def waiting_among(cases: Sequence[Case]) -> list[tuple[Case, CopySet]]:
    """The records that need copies, with them."""
    return [(case, case.copies) for case in cases if case.decided is None and case.copies is not None]


def copies_for(waiting: Sequence[tuple[Case, CopySet]]) -> list[Row]:
    """The rows of all their copies."""
    return [row for case, copies in waiting for row in copies.rows(case.row)]


def decide(plan: ActivePlan, waiting: Sequence[tuple[Case, CopySet]], answers: Sequence[Prediction]) -> None:
    """Decides them by the answers to the copies, which are in the order of `copies_for`."""
    start = 0
    for case, copies in waiting:
        case.decided = plan.decider.substituted(case.own, case.outcome, copies, answers[start : start + copies.count])
        start += copies.count


def give_up(waiting: Sequence[tuple[Case, CopySet]]) -> None:
    """Leaves them the model's own answers, for their copies could not be scored."""
    for case, _ in waiting:
        case.decided = Debiased(case.own, Debiasing.NOT_SCORED)


def _values(plan: ActivePlan, asked: Asked, name: str) -> list[Any]:
    schema = plan.deployment.schema
    place = next((place for place, column in enumerate(schema.features) if column.name == name), None)
    if place is not None:
        return [row[place] for row in asked.features]
    place = next(place for place, column in enumerate(schema.meta) if column.name == name)
    return [None if row is None else row[place] for row in asked.meta]


def _monitored(groups: Groups) -> tuple[str, ...]:
    return tuple(attribute for attribute, role, _ in groups if role == "monitored")


def _case(plan: ActivePlan, row: Row, own: Prediction, groups: Groups) -> Case:
    outcome = plan.decider.classify(own.outcome_value)
    monitored = tuple((attribute, label) for attribute, role, label in groups if role == "monitored")
    case = Case(row, own, outcome, monitored)
    mode = plan.settings.mode
    if not monitored:
        case.decided = Debiased(own, Debiasing.REFERENCE if groups else Debiasing.IN_NO_GROUP)
    elif outcome is Outcome.UNCLASSIFIED:
        case.decided = Debiased(own, Debiasing.UNCLASSIFIED)
    elif outcome is Outcome.FAVOURABLE and mode is not Mode.REFERENCE_SUBSTITUTION:
        case.decided = Debiased(own, Debiasing.NOT_NEEDED)
    elif mode is Mode.PARITY:
        case.decided = held_to_thresholds(own, monitored, plan.profile)
    else:
        case.copies = plan.copy_sets.of(case.attributes)
        if case.copies is None:
            case.decided = Debiased(own, Debiasing.UNDECIDED)
    return case


def _leave_out(plan: ActivePlan, cases: Sequence[Case]) -> None:
    """Lets the chooser, if there is one, spare unfavourable records their copies."""
    asked_about = [case for case in cases if case.decided is None and case.outcome is Outcome.UNFAVOURABLE]
    if plan.chooser is None or not asked_about:
        return
    scores = [favourable_score(case.own.probability, plan.profile.reading) for case in asked_about]
    chosen = plan.chooser.choose([case.row for case in asked_about], scores, [case.attributes for case in asked_about])
    for case, is_chosen in zip(asked_about, chosen, strict=True):
        if not is_chosen:
            case.decided = Debiased(case.own, Debiasing.NOT_CHOSEN)
