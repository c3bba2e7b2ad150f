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
from . import words as record_words
from .files_page import page_without_records
from .filter_form import Text
from .words import list_flip_totals

router = APIRouter(prefix="/deployments/{deployment_id}", include_in_schema=False, dependencies=[KEEPS_RANGE])

SHOWN_FLAGS = 50
MAX_COUNTED = 1000
"""Max flags that are counted."""

DIRECTIONS = {"lifted": "would be favourable", "lowered": "would be unfavourable"}
KINDS = {"changed": "the model was asked again", "likely": "the bias detector expects it"}


def say_flags(listed: int, total: int, *, is_all: bool) -> str:
    flags = "1 flag" if listed == 1 else f"{listed:,} flags"
    among = f" of more than {MAX_COUNTED:,}" if total > MAX_COUNTED else f" of {total:,}"
    if is_all:
        among = " in all"
    return (
        f"{flags}{among}, over all hours of this model revision; a record has one for each attribute that "
        "it is flagged for."
    )


class ChosenFlags(BaseModel):
    """Filter (an empty member allows all), and the flag after which the page begins."""

    attribute: Text = ""
    direction: Literal["lifted", "lowered", ""] = ""
    kind: Literal["changed", "likely", ""] = ""
    gap: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    record_no: int = Field(default=0, ge=0, le=2**63 - 1)
    at: Text = ""


@router.get("/second-look", dependencies=[READS_RECORDS])
def second_look_page(
    request: Request,
    watched: Watched,
    session: SessionIn,
    chosen: Annotated[ChosenFlags, Query()],
) -> Response:
    deployment = watched.deployment
    monitor = watched.monitor
    if deployment.payload is not None:
        return page_without_records(request, deployment, "Second look")
    filters = FlaggedFilter(
        model_revision=deployment.model_revision,
        attribute=chosen.attribute or None,
        direction=chosen.direction or None,
        kind=chosen.kind or None,
    )
    after = None if chosen.gap is None else FlagPlace(chosen.gap, chosen.record_no, chosen.at)
    flags = page_flagged(session, deployment.no, filters, after=after, limit=SHOWN_FLAGS + 1)
    shown = flags.items[:SHOWN_FLAGS]
    query = {name: value for name in ("attribute", "direction", "kind") if (value := getattr(chosen, name))}
    next_place = shown[-1].place if shown and (flags.is_cut or len(flags.items) > SHOWN_FLAGS) else None
    check, totals = list_flip_totals(session, deployment, monitor, None)
    labels = read_record_labels(session, deployment.no, [flag.record_id for flag in shown])
    values = {
        "deployment": deployment,
        "monitor": monitor,
        "group_words": GroupWords.of(monitor),
        "flags": shown,
        "labels": {record_id: describe_outcome(label) for record_id, label in labels.items()},
        "choices": [(json.dumps(value), describe_outcome(value)) for value in pick_labels(monitor)],
        "attributes": sorted(
            {attribute.feature for attribute in monitor.attributes} | {chosen.attribute} - {""}
        )
        if monitor
        else [],
        "chosen": chosen,
        "query": query,
        "say_flags": say_flags,
        "total": count_flags(session, deployment.no, filters, most=MAX_COUNTED + 1),
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
        "words": record_words,
        "only_direct": ONLY_DIRECT,
    }
    return show_page(request, "second_look.html", values)
