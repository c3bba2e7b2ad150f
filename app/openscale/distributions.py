"""Routes of distributions: records of a data set counted by the values of its fields.

A distribution is computed when it is asked for. What was asked is its id, sealed, so that nothing has to be stored for it.
"""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import Field, ValidationError

from ..clock import utc_now
from ..errors import InvalidInput, NotFound, SetupError
from ..security.principals import Permission
from ..store.openscale.distributions import FUNCTIONS, FieldFigure
from ..web.auditing import READS_RECORDS
from .bodies import Answer, Sent, active, resource, without_none
from .callers import Caller, CallerIn, split_id
from .data_set_records import DataSetRecords
from .data_sets import KINDS
from .record_filters import NamedField
from .times import read_time

router = APIRouter(prefix="/openscale/v2/data_sets/{data_set_id}/distributions", tags=["distributions"])

MAX_ROWS = 50_000
"""Max rows of a distribution, as in OpenScale."""

MAX_GROUPED, MAX_FIGURES = 8, 20

MAX_ID_CHARACTERS = 5_000
"""Max characters of an id, which holds what was asked: addresses cannot be of any length."""

_COUNT = "count"

DataSetId = Annotated[str, Path(max_length=200)]
DistributionId = Annotated[str, Path(max_length=MAX_ID_CHARACTERS)]


class GroupedCountIn(Sent):
    """A distribution to compute. `dataset` is the type of the data set, which its id says as well."""

    start: str = Field(max_length=100)
    end: str = Field(max_length=100)
    dataset: str = Field(max_length=100)
    group: list[str] = Field(min_length=1, max_length=MAX_GROUPED)
    limit: float = Field(default=MAX_ROWS, ge=1, le=MAX_ROWS)
    filter: str | None = Field(default=None, max_length=10_000)
    agg: list[str] = Field(default_factory=lambda: [_COUNT], max_length=MAX_FIGURES)
    max_bins: float | None = None


@dataclass(frozen=True, slots=True)
class _Figure:
    """An aggregation under the name in which it was asked for; without a field, the number of records."""

    name: str
    figure: FieldFigure | None


@router.post("", status_code=201, dependencies=[READS_RECORDS])
def add_distribution(data_set_id: DataSetId, body: GroupedCountIn, caller: CallerIn, response: Response) -> Answer:
    """Counts the records of a data set by the values of fields."""
    answer = _compute(caller, data_set_id, body)
    response.headers["Location"] = answer["metadata"]["url"]
    return answer


@router.get("/{data_distribution_id}", dependencies=[READS_RECORDS])
def read_distribution(data_set_id: DataSetId, data_distribution_id: DistributionId, caller: CallerIn) -> Answer:
    """Returns a distribution that was asked for before, of the records that there are now."""
    _, subscription_id = split_id(data_set_id, KINDS, "data set")
    caller.find(subscription_id)
    try:
        sealed = base64.b64decode(data_distribution_id + "=" * (-len(data_distribution_id) % 4), altchars=b"-_", validate=True)
        stored = json.loads(caller.services.secret_box.unseal(sealed))
        asked = GroupedCountIn.model_validate(stored["asked"]) if stored["data_set_id"] == data_set_id else None
    except (binascii.Error, ValueError, KeyError, TypeError, SetupError, ValidationError):
        asked = None
    if asked is None:
        raise NotFound("distribution", ascii(data_distribution_id)[1:-1][:60])
    return _compute(caller, data_set_id, asked)


@router.delete("", status_code=204)
def remove_distributions(data_set_id: DataSetId, caller: CallerIn) -> None:
    """Does nothing: distributions are not stored."""
    _, subscription_id = split_id(data_set_id, KINDS, "data set")
    caller.find(subscription_id, Permission.MANAGE)


def _compute(caller: Caller, data_set_id: str, asked: GroupedCountIn) -> Answer:
    kind, subscription_id = split_id(data_set_id, KINDS, "data set")
    records = DataSetRecords.of(caller, caller.find(subscription_id), kind)
    if asked.dataset != kind:
        raise InvalidInput.of("dataset", f"must be {kind}, the type of the data set; found {asked.dataset!r:.60}")
    if asked.max_bins is not None:
        raise InvalidInput.of("max_bins", "is not supported by Evenhand, which counts by values; leave it out, or narrow the filter")
    grouped = [_field(records, "group", name) for name in asked.group]
    figures = [_read_figure(records, one) for one in asked.agg]
    wanted = records.read_search(read_time("start", asked.start), read_time("end", asked.end), asked.filter, None, None)
    rows = records.count_groups(
        wanted, [one.field for one in grouped], [one.figure for one in figures if one.figure is not None], limit=int(asked.limit)
    )
    values = []
    for row in rows:
        count, numbers = row[len(grouped)], iter(row[len(grouped) + 1 :])
        values.append([*row[: len(grouped)], *(count if one.figure is None else next(numbers) for one in figures)])
    sealed = caller.services.secret_box.seal(json.dumps({"data_set_id": data_set_id, "asked": asked.model_dump()}).encode())
    identifier = base64.urlsafe_b64encode(sealed).decode().rstrip("=")
    if len(identifier) > MAX_ID_CHARACTERS:
        raise InvalidInput.of("filter", "is too long, with group and agg, for the id of a distribution; ask for fewer at once")
    entity: dict[str, Any] = {
        **without_none(asked.model_dump()),
        "distribution": {"fields": [*asked.group, *(one.name for one in figures)], "values": values},
    }
    url = f"/v2/data_sets/{data_set_id}/distributions/{identifier}"
    return resource(identifier, url, active(entity), created_at=utc_now(), created_by=caller.principal.actor)


def _field(records: DataSetRecords, where: str, name: str) -> NamedField:
    found = records.data_set.fields.get(name)
    if found is None or found.is_time:
        fields = ", ".join(one for one, field in records.data_set.fields.items() if not field.is_time)
        raise InvalidInput.of(where, f"{ascii(name)[:100]} is no field by which records can be counted; there are {fields[:500]}")
    return found


def _read_figure(records: DataSetRecords, sent: str) -> _Figure:
    if sent == _COUNT:
        return _Figure(sent, None)
    name, _, function = sent.rpartition(":")
    if function not in FUNCTIONS or not name:
        raise InvalidInput.of("agg", f"{ascii(sent)[:100]} is neither count nor FIELD:FUNCTION with one of {', '.join(FUNCTIONS)}")
    field = _field(records, "agg", name)
    if field.is_number is False:
        raise InvalidInput.of("agg", f"{ascii(name)[:100]} is no field of numbers, of which {function} is computed")
    return _Figure(sent, FieldFigure(field.field, function))
