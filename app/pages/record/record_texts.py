"""Texts of the pages of records: values, copies and mitigation of one record, and flips of a check."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import numpy as np
import pyarrow as pa
from sqlalchemy.orm import Session

from ...base.values import TOGETHER, canonical, frozen, name_value
from ...checks import queries as checks
from ...checks.result_queries import read_measurements
from ...checks.views.view_source import read_counted_check
from ...domain.check import CheckRun, CheckState, DataSet, Scope
from ...domain.deployment import Column, Deployment, RecordSchema
from ...domain.groups import GroupWords, Role
from ...domain.monitor import Monitor, Outcome
from ...domain.paging import Paging
from ...records.bodies import CounterfactualOut as Counterfactual
from ...records.one_record import RecordDetails
from ...records.record_list import OUTCOME_WORDS, Change, OutcomeWord, RecordGroup, RecordSummary
from ...sources.arrays.favourable_scores import format_value, read_favourable_scores
from ...sources.stored.record_queries import StoredRecord
from ..deployment.page import FLIPS, FlipTotal, word_total
from ..words import ABSENT

OUTCOMES = {
    "favourable": "favourable",
    "unfavourable": "unfavourable",
    "unclassified": "in neither outcome list",
}
CHANGE_FILTERS = {
    "any": "some copy changes the outcome",
    "gained": "a copy would be favourable",
    "lost": "a copy would be unfavourable",
    "none": "no copy changes the outcome",
}

CHANGE_WORDS = {"gained": "would be favourable", "lost": "would be unfavourable"}
PARTS = {"span": "the check's own time", "additional": "added from earlier"}
MITIGATION_RESULTS = {
    "changed": "Mitigation changed the outcome.",
    "unchanged": "It keeps its outcome.",
    "not_needed": "Its outcome was already favourable, and this mode lowers none.",
    "reference": "It has reference values, which are left as they are.",
    "in_no_group": "Its values are in neither group.",
    "unclassified": "The model's answer is neither favourable nor unfavourable.",
    "undecided": "It could not be decided, so the model's answer was kept.",
    "not_scored": "Its copies could not be scored, so the model's answer was kept.",
    "not_chosen": "The bias detector did not choose the record, so the model's answer was kept.",
}
MAX_SENTENCES = 5
"""Sentences on flips, those on the most records."""

_MAX_NAMED_VALUES = 3
"""Values that a sentence names; the table has all."""

_MIN_DECIMALS, _MAX_DECIMALS = 4, 17
"""Decimals of a probability; 17 distinguish all numbers."""

_MARK_NUMBERS = frozenset({0.0, 0.5, 1.0})
"""Numbers that a probability is shown as only if it is one of them."""

_DOT_IDS = frozenset({".", ".."})
"""Ids that browsers would take for steps in a path, however they are written."""


@frozen
class ShownValue:
    name: str
    text: str
    group: RecordGroup | None


def build_address(deployment_id: str, record_id: str, *, check_id: str | None = None) -> str:
    query = {"id": record_id} if record_id in _DOT_IDS else {}
    query |= {"check": check_id} if check_id else {}
    last_part = "" if record_id in _DOT_IDS else quote(record_id, safe="")
    path = f"/deployments/{quote(deployment_id)}/transactions/{last_part}"
    return f"{path}?{urlencode(query)}" if query else path


def build_json_address(deployment_id: str, record_id: str, *, check_id: str | None = None) -> str | None:
    """Builds the address of the JSON; None where a browser cannot ask for such an id."""
    if record_id in _DOT_IDS:
        return None
    path = f"/v1/deployments/{quote(deployment_id)}/payload-records/{quote(record_id, safe='')}"
    return f"{path}?{urlencode({'check': check_id})}" if check_id else path


def write_value(value: Any) -> str:  # noqa: ANN401 - as it was logged
    """Writes a logged value; a missing or blank one is said so."""
    if value is None:
        return "missing"
    if isinstance(value, str):
        return value if value.strip() else "(blank)"
    if isinstance(value, list):
        return " / ".join(write_value(element) for element in value)
    return canonical(value)


def write_answer(answer: StoredRecord | Counterfactual) -> str:
    return write_value(answer.prediction if answer.label is None else answer.label)


def write_probability(value: Any) -> str:  # noqa: ANN401 - one number, a list of them, or None
    """Writes all classes with equally many decimals."""
    if value is None:
        return ABSENT
    numbers = value if isinstance(value, list) else [value]
    # Enough decimals that a number close to a mark is not shown as the mark: 0.49999 is not 0.5.
    for decimals in range(_MIN_DECIMALS, _MAX_DECIMALS):
        texts = [f"{number:.{decimals}f}" for number in numbers]
        if all(
            float(text) == number or float(text) not in _MARK_NUMBERS
            for text, number in zip(texts, numbers, strict=True)
        ):
            return " / ".join(texts)
    return " / ".join(repr(number) for number in numbers)


def list_favourable_probabilities(
    summaries: Sequence[RecordSummary], monitor: Monitor | None
) -> list[float | None] | None:
    """Reads the probabilities of the favourable outcome as a check would.

    None where the records do not show of which class or outcome their probabilities are.
    """
    if monitor is None or not summaries:
        return None
    rule = monitor.outcomes
    records = [summary.record for summary in summaries]
    answers = [record.prediction if record.label is None else record.label for record in records]
    scores = read_favourable_scores(
        pa.chunked_array(
            [
                [
                    None if record.probability is None else msgspec.json.encode(record.probability).decode()
                    for record in records
                ]
            ],
            pa.string(),
        ),
        pa.chunked_array([[format_value(answer) for answer in answers]], pa.string()),
        np.array([rule.tests.classify(answer) for answer in answers]),
        rule,
    )
    if scores.values is None:
        return None
    return [None if np.isnan(value) else float(value) for value in scores.values]


def write_second(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def list_shown_values(summary: RecordSummary) -> tuple[list[ShownValue], list[ShownValue]]:
    record = summary.record
    schema = summary.schema
    groups = {group.attribute: group for group in summary.groups}

    def show(columns: Sequence[Column], values: Sequence[Any]) -> list[ShownValue]:
        return [
            ShownValue(column.name, write_value(value), groups.get(column.name))
            for column, value in zip(columns, values, strict=True)
        ]

    return show(schema.features, record.features), show(schema.meta, record.meta or [None] * len(schema.meta))


def list_watched(summary: RecordSummary) -> dict[str, ShownValue]:
    features, meta = list_shown_values(summary)
    return {value.name: value for value in (*features, *meta) if value.group is not None}


def join_groups(monitor: Monitor, groups: Sequence[RecordGroup]) -> list[RecordGroup]:
    """Lists the group of each intersection: reference where all its groups are, none where one is missing."""
    group_of = {group.attribute: group for group in groups}

    joined_groups = []
    for features in monitor.intersections:
        members = [group_of[feature] for feature in features]
        name = TOGETHER.join(features)
        labels = [member.group for member in members if member.group is not None]
        if len(labels) < len(members):
            joined_groups.append(RecordGroup(name, None, None))
            continue
        role: Role = "reference" if all(member.role == "reference" for member in members) else "monitored"
        joined_groups.append(RecordGroup(name, TOGETHER.join(labels), role))
    return joined_groups


def list_changed_attributes(changes: Mapping[str, Change]) -> list[tuple[str, Change]]:
    return [(attribute, change) for attribute, change in changes.items() if change != "none"]


def judge_mitigated(mitigated: Mapping[str, Any], monitor: Monitor | None) -> OutcomeWord | None:
    return None if monitor is None else OUTCOME_WORDS[monitor.outcomes.classify(_find_answer(mitigated))]


def write_mitigated(mitigated: Mapping[str, Any]) -> str:
    return write_value(_find_answer(mitigated))


def _find_answer(mitigated: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as it was logged
    return mitigated.get("prediction") if mitigated.get("label") is None else mitigated["label"]


def list_copies(details: RecordDetails, *, is_present: bool) -> list[Counterfactual]:
    """Lists the copies that count in present figures, or the others, in the order of the watched attributes."""
    order = {group.attribute: position for position, group in enumerate(details.summary.groups)}
    copies = [copy for copy in details.counterfactuals if copy.in_present_figures is is_present]
    return sorted(copies, key=lambda copy: order.get(copy.attribute, len(order)))


def is_donated(copy: Counterfactual, schema: RecordSchema) -> bool:
    """True if the attribute is no feature, so that a copy has the features of another record."""
    return any(column.name == copy.attribute for column in schema.meta)


def write_set_value(copy: Counterfactual) -> str:
    """Writes the value that a copy has of its attribute; its group where the value is not known."""
    value = None if copy.values is None else copy.values.get(copy.attribute)
    return write_value(copy.group if value is None else value)


def say_record(details: RecordDetails) -> list[str]:
    summary = details.summary
    mitigated = summary.record.mitigated or {}
    outcome = "" if summary.outcome is None else f", which is {OUTCOMES[summary.outcome]}"
    sentences = [
        f"The model said {write_answer(summary.record)}{outcome}.",
        *_describe_copies(list_copies(details, is_present=True), summary),
    ]
    if mitigated.get("changed"):
        sentences.append(f"The mitigated answer is {write_mitigated(mitigated)}.")
    return sentences


def _describe_copies(copies: Sequence[Counterfactual], summary: RecordSummary) -> list[str]:
    if not copies:
        return []
    if summary.outcome == OUTCOME_WORDS[Outcome.UNCLASSIFIED]:
        return ["So nothing can be said about what its copies change."]
    changes = [
        _describe_change(attribute, list(attribute_copies), summary.schema)
        for attribute, attribute_copies in groupby(copies, lambda copy: copy.attribute)
    ]
    sentences = [sentence for sentence in changes if sentence is not None]
    if sentences:
        return sentences

    attributes = _join(_drop_repeats(copy.attribute for copy in copies), "or")
    comparable = sum(copy.change is not None for copy in copies)
    if not comparable:
        return [f"With another {attributes} it gives an answer that is in neither outcome list."]
    share = ""
    if comparable < len(copies):
        share = f" in the {comparable} of {len(copies)} copies that can be compared"
    return [f"With another {attributes} the outcome is the same{share}."]


def _describe_change(attribute: str, copies: Sequence[Counterfactual], schema: RecordSchema) -> str | None:
    changed_copies = [copy for copy in copies if copy.change in CHANGE_WORDS]
    if not changed_copies:
        return None
    answers = _join(_drop_repeats(write_answer(copy) for copy in changed_copies), "or")
    share = "" if len(copies) == 1 else f" ({len(changed_copies)} of {len(copies)} copies)"

    set_values = _drop_repeats(write_set_value(copy) for copy in changed_copies)
    remaining = len(set_values) - _MAX_NAMED_VALUES
    # "1 other value" would be no shorter than the value.
    values = _join(
        set_values if remaining <= 1 else [*set_values[:_MAX_NAMED_VALUES], f"{remaining} other values"], "or"
    )
    if not is_donated(changed_copies[0], schema):
        return f"With {attribute} set to {values} and everything else the same it says {answers}{share}."
    features = (
        _join(_drop_repeats(name for copy in changed_copies for name in copy.values or ()), "and")
        or "its other features"
    )
    return (
        f"With {features} as records with {attribute} {values} have them, and everything else the same, "
        f"it says {answers}{share}."
    )


def _drop_repeats(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _join(texts: Sequence[str], last: str) -> str:
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}" if len(texts) > 1 else "".join(texts)


def list_flip_totals(
    session: Session, deployment: Deployment, monitor: Monitor | None, check: CheckRun | None
) -> tuple[CheckRun | None, list[FlipTotal]]:
    """Lists sentences such as `71 of 222 women were not rated No Risk, and would have been as men`, and their
    check.

    The check is by default the newest that succeeded. There is no sentence without copies, and none on an
    attribute that the model does not see, whose copies change other columns.
    """
    if check is None:
        newest_checks = checks.page_checks(session, deployment.no, Paging(1), state=CheckState.SUCCEEDED)
        check = newest_checks[0] if newest_checks else None
    if check is None or monitor is None or check.state is not CheckState.SUCCEEDED:
        return check, []
    names = GroupWords.of(monitor)
    features = {column.name for column in deployment.schema.features}
    attributes = {
        attribute.feature: attribute for attribute in monitor.attributes if attribute.feature in features
    }
    totals = []
    counted_no = read_counted_check(session, check).origin.no
    for measurement in read_measurements(session, counted_no, metrics=[FLIPS]):
        attribute = attributes.get(measurement.attribute or "")
        group = measurement.group
        details = measurement.details
        gained = details.counts.get("gained")
        records = details.counts.get("n")
        if (
            measurement.data is not DataSet.COUNTERFACTUAL
            or measurement.scope is not Scope.GROUP
            or group is None
            or attribute is None
            or gained is None
            or not records
            or group not in map(name_value, attribute.monitored)
        ):
            continue
        sentence = word_total(attribute, group, int(gained), int(records), names)
        if "repeats" in details.counts:
            sentence += f" Caution: the flip rate {details.caution}."
        query = {"check": check.id, "attribute": attribute.feature, "group": group, "changed": "gained"}
        totals.append(FlipTotal(sentence=sentence, records=int(gained), query=query))
    return check, sorted(totals, key=lambda total: -total.records)[:MAX_SENTENCES]
