"""What the pages of records say in words: what the model answered, what its copies changed, and what mitigation made of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final
from urllib.parse import quote, urlencode

from app.dashboard.wording import ABSENT
from app.domain.deployments import RecordSchema
from app.domain.groups import Role
from app.domain.monitors import Monitor
from app.domain.outcomes import Outcome
from app.domain.texts import TOGETHER
from app.domain.values import canonical
from app.store.transactions import StoredRecord
from app.views.check_window import WindowPart
from app.views.one_record import Counterfactual, RecordDetails
from app.views.record_lens import WORDS, Change, OutcomeWord, RecordGroup
from app.views.transactions import ChangedFilter, RecordSummary

OUTCOMES: Mapping[OutcomeWord, str] = {
    "favourable": "favourable",
    "unfavourable": "unfavourable",
    "unclassified": "in neither outcome list",
}
CHANGED: Mapping[ChangedFilter, str] = {
    "any": "some copy changes the outcome",
    "gained": "a copy would be favourable",
    "lost": "a copy would be unfavourable",
    "none": "no copy changes the outcome",
}
"""What a person may look for."""

CHANGES: Mapping[Change, str] = {
    "gained": "would be favourable",
    "lost": "would be unfavourable",
}
PARTS: Mapping[WindowPart, str] = {"span": "of its span", "additional": "additional, earlier"}
DEBIASING: Mapping[str, str] = {
    "changed": "The outcome is another one now.",
    "unchanged": "It keeps its outcome.",
    "not_needed": "Its outcome was favourable already, and this mode lowers none.",
    "reference": "It has reference values, which are left as they are.",
    "in_no_group": "Its values are in neither group.",
    "unclassified": "The model's answer is neither favourable nor unfavourable.",
    "undecided": "It could not be decided, so the model's answer was kept.",
    "not_scored": "Its copies could not be scored, so the model's answer was kept.",
    "not_chosen": "The bias detector saw no need for copies, so the model's answer was kept.",
}
_OUTCOME_OF: Mapping[OutcomeWord, str] = {
    "favourable": ", which is favourable",
    "unfavourable": ", which is unfavourable",
    "unclassified": ", which is in neither outcome list",
}
_TOLD: Final = 3
"""Values that a sentence at the head of a page names; the table has all."""

_LEAST_DIGITS, _MOST_DIGITS = 4, 17
_MARKS: Final = frozenset({0.0, 0.5, 1.0})
_DOTS: Final = frozenset({".", ".."})


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a record; `group` is the one of the monitor that it lies in, where the monitor watches the column."""

    name: str
    text: str
    group: RecordGroup | None


def address(deployment_id: str, record_id: str, *, check_id: str | None = None) -> str:
    """Where the page of the record is."""
    # Browsers take these two for steps in a path, however they are written.
    query = {"id": record_id} if record_id in _DOTS else {}
    query |= {"check": check_id} if check_id else {}
    path = f"/deployments/{quote(deployment_id)}/transactions/{'' if record_id in _DOTS else quote(record_id, safe='')}"
    return f"{path}?{urlencode(query)}" if query else path


def json_address(deployment_id: str, record_id: str, *, check_id: str | None = None) -> str | None:
    """Where a browser finds the record as JSON; None where it cannot ask for such an id."""
    if record_id in _DOTS:
        return None
    path = f"/v1/deployments/{quote(deployment_id)}/payload-records/{quote(record_id, safe='')}"
    return f"{path}?{urlencode({'check': check_id})}" if check_id else path


def text(value: Any) -> str:  # noqa: ANN401 - as it was logged
    """A value as it was logged."""
    if value is None:
        return "missing"
    if isinstance(value, str):
        return value if value.strip() else "(blank)"
    if isinstance(value, list):
        return " / ".join(text(part) for part in value)
    return canonical(value)


def said(answer: StoredRecord | Counterfactual) -> str:
    """What the model answered: the decoded label where there is one."""
    return text(answer.prediction if answer.label is None else answer.label)


def probability(value: Any) -> str:  # noqa: ANN401 - one number, a list of them, or None
    """A probability, or that of each class."""
    if value is None:
        return ABSENT
    return " / ".join(_rounded(part) for part in value) if isinstance(value, list) else _rounded(value)


def day(at: datetime) -> str:
    """The day in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d}"


def clock(at: datetime) -> str:
    """The time of day in UTC, to the second."""
    return f"{at.astimezone(UTC):%H:%M:%S}"


def second(at: datetime) -> str:
    """A moment in UTC to the second."""
    return f"{day(at)} {clock(at)} UTC"


def values_of(summary: RecordSummary) -> tuple[list[Value], list[Value]]:
    """The record's features, and its meta fields."""
    record, schema = summary.record, summary.schema
    groups = {group.attribute: group for group in summary.groups}
    meta = record.meta or [None] * len(schema.meta)
    features = [
        Value(column.name, text(value), groups.get(column.name)) for column, value in zip(schema.features, record.features, strict=True)
    ]
    return features, [Value(column.name, text(value), groups.get(column.name)) for column, value in zip(schema.meta, meta, strict=True)]


def watched(summary: RecordSummary) -> dict[str, Value]:
    """What the record has in the watched attributes, by attribute."""
    return {value.name: value for values in values_of(summary) for value in values if value.group is not None}


def groups_together(monitor: Monitor, groups: Sequence[RecordGroup]) -> list[RecordGroup]:
    """The record's group of each intersection: reference where all of it is, and in none where any of it is in none."""
    of = {group.attribute: group for group in groups}
    return [_together([of[feature] for feature in features]) for features in monitor.intersections]


def changing(changes: Mapping[str, Change]) -> list[tuple[str, Change]]:
    """The attributes whose copies change the outcome."""
    return [(attribute, change) for attribute, change in changes.items() if change != "none"]


def debiased_outcome(debiased: Mapping[str, Any], monitor: Monitor | None) -> OutcomeWord | None:
    """The outcome of a debiased answer."""
    answer = debiased.get("prediction") if debiased.get("label") is None else debiased["label"]
    return None if monitor is None else WORDS[monitor.outcomes.classify(answer)]


def debiased_text(debiased: Mapping[str, Any]) -> str:
    """What the debiased endpoint answered."""
    return text(debiased.get("prediction") if debiased.get("label") is None else debiased["label"])


def copies(details: RecordDetails, *, is_present: bool) -> list[Counterfactual]:
    """Those that the present monitor asks for, or the others, in the order of its attributes."""
    order = {group.attribute: place for place, group in enumerate(details.summary.groups)}
    found = [copy for copy in details.counterfactuals if copy.is_present is is_present]
    return sorted(found, key=lambda copy: order.get(copy.attribute, len(order)))


def is_donated(copy: Counterfactual, schema: RecordSchema) -> bool:
    """Whether the copy changes features in the stead of a meta field, which the model does not see."""
    return any(column.name == copy.attribute for column in schema.meta)


def set_to(copy: Counterfactual) -> str:
    """What a copy has in its own attribute: the value, of a range the value that was drawn."""
    value = None if copy.values is None else copy.values.get(copy.attribute)
    return text(copy.group if value is None else value)


def sentences(details: RecordDetails) -> list[str]:
    """What a person wants to know first."""
    summary = details.summary
    debiased = summary.record.debiased or {}
    outcome = "" if summary.outcome is None else _OUTCOME_OF[summary.outcome]
    return [
        f"The model said {said(summary.record)}{outcome}.",
        *_of_copies(copies(details, is_present=True), summary),
        *([f"The debiased endpoint answered {debiased_text(debiased)} instead."] if debiased.get("changed") else []),
    ]


def _of_copies(present: Sequence[Counterfactual], summary: RecordSummary) -> list[str]:
    if not present:
        return []
    if summary.outcome == WORDS[Outcome.UNCLASSIFIED]:
        return ["So nothing can be said of what its copies change."]
    of_attributes = groupby(present, lambda copy: copy.attribute)
    told = (_changed(attribute, list(of_one), summary.schema) for attribute, of_one in of_attributes)
    return [sentence for sentence in told if sentence is not None] or [_nothing_changed(present)]


def _nothing_changed(copies: Sequence[Counterfactual]) -> str:
    attributes = _or(_once(copy.attribute for copy in copies))
    compared = sum(copy.change is not None for copy in copies)
    if not compared:
        return f"With another {attributes} it says what is in neither outcome list."
    those = "" if compared == len(copies) else f" in the {compared} of {len(copies)} copies that can be compared"
    return f"With another {attributes} the outcome is the same{those}."


def _changed(attribute: str, all_of_it: Sequence[Counterfactual], schema: RecordSchema) -> str | None:
    found = [copy for copy in all_of_it if copy.change in CHANGES]
    if not found:
        return None
    answers = _or(_once(said(copy) for copy in found))
    often = "" if len(all_of_it) == 1 else f" ({len(found)} of {len(all_of_it)} copies)"
    values = _or(_fewer(_once(set_to(copy) for copy in found)))
    if not is_donated(found[0], schema):
        return f"With {attribute} set to {values} and everything else the same it says {answers}{often}."
    features = _and(_once(name for copy in found for name in copy.values or ())) or "its other features"
    return f"With {features} as records with {attribute} {values} have them, and everything else the same, it says {answers}{often}."


def _once(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))


def _fewer(values: list[str]) -> list[str]:
    more = len(values) - _TOLD
    return values if more <= 1 else [*values[:_TOLD], f"{more} other values"]


def _rounded(value: float) -> str:
    """So many digits that what is nearly one of the marks is not shown as being there: 0.49999 is not 0.5."""
    shown = (f"{value:.{digits}g}" for digits in range(_LEAST_DIGITS, _MOST_DIGITS))
    return next((one for one in shown if float(one) == value or float(one) not in _MARKS), repr(value))


def _together(members: Sequence[RecordGroup]) -> RecordGroup:
    name = TOGETHER.join(member.attribute for member in members)
    labels = [member.group for member in members if member.group is not None]
    if len(labels) < len(members):
        return RecordGroup(name, None, None)
    role: Role = "reference" if all(member.role == "reference" for member in members) else "monitored"
    return RecordGroup(name, TOGETHER.join(labels), role)


def _or(words: Sequence[str]) -> str:
    return _joined(words, "or")


def _and(words: Sequence[str]) -> str:
    return _joined(words, "and")


def _joined(words: Sequence[str], last: str) -> str:
    return " ".join([", ".join(words[:-1]), last, words[-1]]) if len(words) > 1 else "".join(words)
