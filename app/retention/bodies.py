"""Retention, legal holds and erasures as bodies."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from ..web.body import NOT_BLANK, FromText, In, Out, PageOut, ScalarJson, example, read_from
from .erase import MAX_REASON_CHARACTERS
from .policy import MAX_ERASED_IDS, MAX_MONTHS, ErasureKind, ErasureState, RetentionPreset

_HOLD = {"reason": "Case 26-118", "placed_by": "user:ada", "placed_at": "2026-11-20T15:20:00Z"}
_ERASURE = {
    "id": "request-2026-118",
    "deployment_id": "credit-risk",
    "kind": "person",
    "state": "finished",
    "scope": {"field": "customer"},
    "request_hash": "1f3870be274f6c49b3e31a0c6728957f1f3870be274f6c49b3e31a0c6728957f",
    "erased": {"counterfactuals": 12, "payload_keys": 3, "payload_records": 3},
    "requested_by": "user:ada",
    "requested_at": "2026-11-20T15:20:00.123456Z",
    "finished_at": "2026-11-20T15:20:31.654321Z",
    "hash": "9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
}

Months = Annotated[int | None, Field(json_schema_extra={"minimum": 1, "maximum": MAX_MONTHS})]


class RetentionIn(In):
    """The policy. Members that are left out get the months of the preset; without a preset nothing of that
    kind is erased by age.
    """

    model_config = example({"preset": "eu"})

    preset: FromText[RetentionPreset] | None = None
    """`eu`: 6 months; `colorado`: 36; `california`: 48. Longer periods of its own may be stated with it."""

    records_months: Months = None
    """Calendar months for which payload records are kept."""

    feedback_months: Months = None
    """Calendar months for which ground-truth labels are kept."""

    answers_months: Months = None
    """Calendar months for which the model's answers to copies of records are kept; at most
    `records_months`.
    """


class LegalHoldIn(In):
    """The reason of a hold."""

    model_config = example({"reason": _HOLD["reason"]})

    reason: Annotated[str, Field(min_length=1, max_length=MAX_REASON_CHARACTERS, pattern=NOT_BLANK)]
    """Why everything must be kept, for other readers: a case number, say."""


class LegalHoldOut(Out):
    """A hold that is in force."""

    model_config = example(_HOLD)

    reason: str
    placed_by: str
    """A key's id, or `user:` and a name."""

    placed_at: datetime


class RetentionOut(Out):
    """The policy, and the hold that is in force, which beats it."""

    model_config = example(
        {
            "version": 1,
            "preset": "eu",
            "records_months": 6,
            "feedback_months": 6,
            "answers_months": 6,
            "legal_hold": None,
        }
    )

    version: int
    """Grows with every change of content; 0: nothing was set, and nothing is erased by age."""

    preset: RetentionPreset | None
    records_months: int | None
    feedback_months: int | None
    answers_months: int | None
    legal_hold: LegalHoldOut | None
    """While there is one, nothing of the deployment is erased, by age or on request."""


class ErasureIn(In):
    """A request to erase the records of one person: by their ids, or by the value of a meta field."""

    model_config = example({"id": _ERASURE["id"], "field": "customer", "value": "c-1815"})

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
    """An id that the caller makes up, without a name of the person: the same request again changes
    nothing.
    """

    record_ids: Annotated[list[str], Field(max_length=MAX_ERASED_IDS)] = Field(default_factory=list)
    """Ids of payload records, of labels, or both."""

    field: str | None = Field(default=None, examples=["customer"])
    """A meta field."""

    value: ScalarJson | None = None
    """Its value for the person, of the same type as it was logged."""


class ErasureOut(Out):
    """An erasure; once it has finished, its receipt."""

    model_config = example(_ERASURE)

    id: str
    deployment_id: str
    kind: ErasureKind
    """`person`: on request. `retention`: because of the age of the records."""

    state: ErasureState
    scope: dict[str, Any]
    """The request, without an id or a value of the person."""

    request_hash: str
    """SHA-256 of the request's canonical JSON: members `deployment_id`, and `record_ids` or `field` and
    `value`."""

    erased: dict[str, int] = read_from("counts")
    """Erased rows by table, and changed ones of tables whose reasons lost a quotation."""

    requested_by: str
    requested_at: datetime
    finished_at: datetime | None
    hash: str | None
    """SHA-256 of the canonical JSON (sorted members, no blanks, ASCII) of all other members but `state`.
    The audit event `erasure.finished` has it, too."""


class ErasurePage(PageOut):
    """Erasures, newest first."""

    erasures: list[ErasureOut]
    next_cursor: str | None
