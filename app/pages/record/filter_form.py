"""Filter of payload records on the page."""

import re
from datetime import datetime
from itertools import product
from math import prod
from typing import Annotated, Literal

import msgspec
from pydantic import BaseModel, BeforeValidator, Field
from sqlalchemy.orm import Session

from ...base.errors import InvalidInput
from ...base.values import TOGETHER, character_problem, frozen, name_value
from ...charts.time_ranges import write_moment
from ...checks import queries as checks
from ...checks.result_queries import read_stored_tables
from ...checks.views.view_source import read_counted_check
from ...domain.check import CheckState, DataSet
from ...domain.groups import EVERYBODY_ELSE
from ...domain.monitor import Monitor
from ...domain.paging import Paging
from ...records.record_list import ChangedFilter, OutcomeWord, RecordListQuery
from ...sources.stored.record_conditions import RecordSort
from ...web.route_declarations import Timestamp, in_utc, read_record_cursor

CHECK_ID = r"^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?$"

MAX_INTERSECTION_GROUPS = 200
"""Groups of an intersection that a list of choices offers; of one with more, none."""

_CONTROL_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?", re.ASCII)
Text = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00]*$")]


def _assume_utc(value: object) -> object:
    """Adds UTC to a time of a form's control, which has no offset; the page says that it is UTC."""
    if value == "":
        return None
    return f"{value}Z" if isinstance(value, str) and _CONTROL_MOMENT.fullmatch(value) else value


Moment = Annotated[Timestamp | None, BeforeValidator(_assume_utc)]


class ChosenRecords(BaseModel):
    """Filter that the address names; an empty member allows all.

    `among` holds attribute and group of the form as JSON: a list of the two, or of the attribute.
    """

    check: Annotated[str, Field(pattern=CHECK_ID)] = ""
    since: Moment = None
    until: Moment = None
    attribute: Text = ""
    group: Text = ""
    among: Text = ""
    outcome: Literal[OutcomeWord, ""] = ""
    changed: Literal[ChangedFilter, ""] = ""
    mitigated: Literal["changed", ""] = ""
    sort: RecordSort = RecordSort.NEWEST
    cursor: Annotated[str, Field(max_length=2000)] = ""

    def read_query(self, *, limit: int) -> RecordListQuery:
        attribute = self.attribute or None
        group = self.group or None
        if self.among:
            attribute, group = _read_group_choice(self.among)
        return RecordListQuery(
            check_id=self.check or None,
            since=in_utc("since", self.since),
            until=in_utc("until", self.until),
            attribute=attribute,
            group=group,
            outcome=self.outcome or None,
            changed=self.changed or None,
            mitigated=self.mitigated == "changed",
            sort=self.sort,
            after=read_record_cursor(self.cursor or None, self.sort),
            limit=limit,
        )


@frozen
class GroupChoices:
    attribute: str
    groups: tuple[str, ...]


def write_query(query: RecordListQuery) -> dict[str, str]:
    members = {
        "check": query.check_id,
        "since": _write_iso(query.since),
        "until": _write_iso(query.until),
        "attribute": query.attribute,
        "group": query.group,
        "outcome": query.outcome,
        "changed": query.changed,
        "mitigated": "changed" if query.mitigated else None,
        "sort": None if query.sort is RecordSort.NEWEST else query.sort.value,
    }
    return {name: value for name, value in members.items() if value is not None}


def encode_group_choice(attribute: str, group: str | None = None) -> str:
    return msgspec.json.encode([attribute] if group is None else [attribute, group]).decode()


def list_choices(
    session: Session, deployment_no: int, monitor: Monitor, query: RecordListQuery
) -> list[GroupChoices]:
    """Lists the groups to choose from: those of attributes without a rule, and the chosen one.

    Where the reference is left out, every other value is a group: those that the newest check saw are
    offered.
    """
    seen_labels = {}
    if any(attribute.reference is None for attribute in monitor.attributes):
        for check in checks.page_checks(session, deployment_no, Paging(1), state=CheckState.SUCCEEDED):
            check_no = read_counted_check(session, check).origin.no
            for table in read_stored_tables(session, check_no, data=[DataSet.AS_LOGGED]):
                labels = [label for label, _role in table.cells["groups"] if label != EVERYBODY_ELSE]
                seen_labels[table.attribute] = labels

    groups = {}
    for attribute in monitor.attributes:
        if attribute.rule is not None:
            continue
        labels = [name_value(value) for value in attribute.listed]
        if attribute.reference is None:
            labels += seen_labels.get(attribute.feature, ())
        groups[attribute.feature] = list(dict.fromkeys(labels))
    for features in monitor.intersections:
        if not groups.keys() >= set(features):
            continue
        labels_of_features = [groups[feature] for feature in features]
        is_short = prod(map(len, labels_of_features)) <= MAX_INTERSECTION_GROUPS
        groups[TOGETHER.join(features)] = (
            [TOGETHER.join(labels) for labels in product(*labels_of_features)] if is_short else []
        )
    if query.attribute in groups and query.group is not None:
        groups[query.attribute] = list(dict.fromkeys([*groups[query.attribute], query.group]))
    return [GroupChoices(attribute, tuple(labels)) for attribute, labels in groups.items()]


def write_for_control(moment: datetime | None) -> str:
    """Writes a time in UTC for a form's control, which has no offset."""
    return "" if moment is None else write_moment(moment).removesuffix("Z")


def _read_group_choice(among: str) -> tuple[str, str | None]:
    try:
        pair = msgspec.json.decode(among, type=Annotated[list[str], msgspec.Meta(min_length=1, max_length=2)])
    except (msgspec.MsgspecError, UnicodeEncodeError) as error:
        raise InvalidInput("among", "is none of the groups that the page offers") from error
    if any(character_problem(text) for text in pair):
        raise InvalidInput("among", "must not hold control characters")
    return pair[0], pair[1] if len(pair) > 1 else None


def _write_iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
