"""Page of the records that need a second look, the largest score difference first."""

import json
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from ...access.gate.caller import READS_RECORDS, SessionIn
from ...deployments.deployment_in_address import Watched
from ...domain.groups import GroupWords
from ...domain.mitigation import ONLY_DIRECT
from ...domain.monitor import describe_outcome
from ...mitigation.window.flag_queries import FlaggedFilter, FlagPlace, count_flags, page_flagged
from ...records.second_look.words import find_known_gap, pick_labels, write_reason
from ...sources.stored.record_queries import read_record_labels
from ..range_bar import KEEPS_RANGE
from ..render import show_page
from . import record_texts
from .files_page import show_page_without_records
from .filter_form import Text
from .record_texts import list_flip_totals

router = APIRouter(prefix="/deployments/{deployment_id}", include_in_schema=False, dependencies=[KEEPS_RANGE])

MAX_FLAGS = 50
MAX_COUNTED_FLAGS = 1000

DIRECTIONS = {"lifted": "would be favourable", "lowered": "would be unfavourable"}
KINDS = {"changed": "the model was asked again", "likely": "the bias detector expects it"}


def say_flags(listed: int, total: int, *, is_all: bool) -> str:
    flags = "1 flag" if listed == 1 else f"{listed:,} flags"
    share = f" of more than {MAX_COUNTED_FLAGS:,}" if total > MAX_COUNTED_FLAGS else f" of {total:,}"
    if is_all:
        share = " in all"
    return (
        f"{flags}{share}, over all hours of this model revision; a record has one for each attribute that "
        "it is flagged for."
    )


class ChosenFlags(BaseModel):
    """Filter that the address names, and the flag after which the page begins. An empty member allows all."""

    attribute: Text = ""
    direction: Literal["lifted", "lowered", ""] = ""
    kind: Literal["changed", "likely", ""] = ""
    gap: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    record_no: int = Field(default=0, ge=0, le=2**63 - 1)
    at: Text = ""


@router.get("/second-look", dependencies=[READS_RECORDS])
def show_second_look_page(
    request: Request, watched: Watched, session: SessionIn, chosen: Annotated[ChosenFlags, Query()]
) -> Response:
    deployment = watched.deployment
    monitor = watched.monitor
    if deployment.payload is not None:
        return show_page_without_records(request, deployment, "Second look")
    filters = FlaggedFilter(
        model_revision=deployment.model_revision,
        attribute=chosen.attribute or None,
        direction=chosen.direction or None,
        kind=chosen.kind or None,
    )
    after = None if chosen.gap is None else FlagPlace(chosen.gap, chosen.record_no, chosen.at)
    flags = page_flagged(session, deployment.no, filters, after=after, limit=MAX_FLAGS + 1)
    listed = flags.items[:MAX_FLAGS]
    members = {"attribute": chosen.attribute, "direction": chosen.direction, "kind": chosen.kind}
    query = {name: value for name, value in members.items() if value}
    has_more = flags.is_cut or len(flags.items) > MAX_FLAGS
    next_place = listed[-1].place if listed and has_more else None
    check, totals = list_flip_totals(session, deployment, monitor, None)
    labels = read_record_labels(session, deployment.no, [flag.record_id for flag in listed])
    attributes = []
    if monitor is not None:
        attributes = sorted(
            {attribute.feature for attribute in monitor.attributes} | {chosen.attribute} - {""}
        )
    values = {
        "deployment": deployment,
        "monitor": monitor,
        "group_words": GroupWords.of(monitor),
        "flags": listed,
        "labels": {record_id: describe_outcome(label) for record_id, label in labels.items()},
        "choices": [(json.dumps(value), describe_outcome(value)) for value in pick_labels(monitor)],
        "attributes": attributes,
        "chosen": chosen,
        "query": query,
        "say_flags": say_flags,
        "total": count_flags(session, deployment.no, filters, most=MAX_COUNTED_FLAGS + 1),
        "further": None
        if next_place is None
        else query
        | {"gap": repr(next_place.gap), "record_no": next_place.record_no, "at": next_place.attribute},
        "check": check,
        "totals": totals,
        "directions": DIRECTIONS,
        "kinds": KINDS,
        "find_known_gap": find_known_gap,
        "why": write_reason,
        "encode": json.dumps,
        "words": record_texts,
        "only_direct": ONLY_DIRECT,
    }
    return show_page(request, "second_look.html", values)
