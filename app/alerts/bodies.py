"""Alerts, and the work on them, as bodies."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from ..domain.alert import AlertState, ClosingReason, Resolution, RuleKind
from ..domain.check import DataSet
from ..evidence.attribution.bodies import ChangedGapOut
from ..web.body import FollowingCursor, FromText, In, Out, PageOut, example, read_from

MAX_NOTE = 2000

_FACTS = {
    "sentence": "Of every 100 records of female, 7.9 were predicted favourable; of every 100 of male, 26.3: "
    "a ratio of 0.302 (95 %: 0.272 to 0.334). The gap is larger than chance explains (p < 0.0001). It is "
    "beyond the limit of 0.8, and so is its whole interval.",
    "at": "2026-11-20T15:00:00+00:00",
    "since": "2026-11-20T13:00:00+00:00",
    "checks_in_a_row": 3,
    "check_id": "6f1c2d3e-4b5a-4978-8c9d-0e1f2a3b4c5d",
    "verdict": "unfair",
    "disadvantaged": "monitored",
    "disadvantaged_group": "female",
    "value": 0.3015654720858779,
    "lower": 0.2724,
    "upper": 0.3339,
    "lower_limit": 0.8,
    "upper_limit": 1.25,
    "interval_method": "log_ratio",
    "n": 15060,
    "counted": "15,060 of 16,000 records counted; left out: Sex unknown 940.",
    "scope": "group",
    "details": {
        "formula": "favourable_rate(monitored) / favourable_rate(reference)",
        "monitored": "female",
        "reference": "male",
    },
}
_ALERT = {
    "id": "0c3a7a55-1f6b-4f0e-9d0a-6d3a5a0f2c11",
    "deployment_id": "credit-risk",
    "deployment_name": "Credit risk",
    "state": "acknowledged",
    "kind": "verdict",
    "rule_id": "unfair",
    "rule_name": "Unfair outcomes",
    "data": "as_logged",
    "metric": "disparate_impact",
    "attribute": "Sex",
    "group": "female",
    "group_name": "women",
    "facts": _FACTS,
    "opened_at": "2026-11-20T15:00:41Z",
    "last_seen_at": "2026-11-20T15:00:41Z",
    "reminded_at": None,
    "acknowledged_at": "2026-11-20T15:20:00Z",
    "acknowledged_by": "user:ada",
    "note": "The new price list; the model is being retrained.",
    "resolved_at": None,
    "resolution": None,
    "closed_by": None,
    "closing_note": None,
    "closing_reason": None,
    "assignee": "user:ada",
    "assigned_at": "2026-11-20T15:20:00Z",
    "change": None,
}


class AlertChangeOut(ChangedGapOut):
    """Why the gap of an alert on evidence changed, before its onset against after it."""

    sentence: str
    display_sentence: str | None = None
    """The same with display names, where there are any."""

    attribution_id: str
    """The attribution that found it, with the counts."""


class AlertOut(Out):
    """One alert."""

    model_config = example(_ALERT)

    id: str
    deployment_id: str
    deployment_name: str
    state: AlertState
    """`open`; `acknowledged`: somebody works on it; `resolved`: it is over."""

    kind: RuleKind
    rule_id: str
    """The rule that opened it, which may have been deleted since."""

    rule_name: str
    """As the rule was called then."""

    data: DataSet | None = read_from("subject.data")
    """The data of the figure; of the kind `verdict`, like the next three."""

    metric: str | None = read_from("subject.metric")
    attribute: str | None = read_from("subject.attribute")
    group: str | None = read_from("subject.group")
    """Null where the rule is about the group furthest out, whichever it is."""

    group_name: str | None
    """The group by its display name, or else its label."""

    facts: dict[str, Any]
    """The facts, as they were last seen: a sentence, the check, since when, for how many checks in a row;
    of a verdict the figure with its interval, limits and counts, and who is at a disadvantage
    (`disadvantaged`, as in a measurement). `counted` is the left-out line with its cautions. `recovery` is
    what showed that it has passed; `sentence` says so then. With display names, `display_sentence` has
    them."""

    opened_at: datetime
    last_seen_at: datetime
    """When it was last found to hold."""

    reminded_at: datetime | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    """A key's id, or `user:` and a name."""

    note: str | None
    resolved_at: datetime | None
    resolution: Resolution | None
    """`recovered`; `closed` by a person; or why the rule no longer watches it."""

    closed_by: str | None
    """Who closed it by hand: a key's id, or `user:` and a name."""

    closing_note: str | None
    closing_reason: ClosingReason | None
    """Why it was closed by hand, as far as the person said; the note says more."""

    assignee: str | None
    """Who works on it: a key's id, or `user:` and a name. Null: nobody is assigned."""

    assigned_at: datetime | None
    change: AlertChangeOut | None
    """Of the kind `evidence`: why the favourable rates of logged records changed. It is computed after
    the alert has opened; null until then, and for other kinds."""


class AlertPage(PageOut):
    """Alerts, newest first."""

    alerts: list[AlertOut]
    next_cursor: FollowingCursor


class ClosureIn(In):
    """The note of a person who closes an alert of evidence."""

    model_config = example({"note": "The threshold of the model was corrected on Friday.", "reason": "fixed"})

    note: Annotated[str, Field(min_length=1, max_length=MAX_NOTE)]
    """Why it is closed, for the other readers."""

    reason: FromText[ClosingReason] | None = None
    """`fixed`: the cause was removed; `justified`: the difference has a lawful reason, which the note
    names; `data_error`: the records or labels were wrong; `other`."""


class AcknowledgementIn(In):
    """The note of a person who acknowledges an alert."""

    model_config = example({"note": _ALERT["note"]})

    note: Annotated[str | None, Field(max_length=MAX_NOTE)] = Field(default=None)
    """The work that is being done about it, for the other readers."""


MAX_COMMENT = 10_000
MAX_ACKNOWLEDGED = 500

_ALERT_ID = "0c3a7a55-1f6b-4f0e-9d0a-6d3a5a0f2c11"
_COMMENT = {
    "id": "7b1f0f3e-58f3-4f3b-9a53-2f6f0f0f7c21",
    "author": "user:ada",
    "text": "The new price list went live at 14:00; pricing is looking at it.",
    "created_at": "2026-11-20T15:31:07Z",
}


class AssignmentIn(In):
    """The person who is to work on an alert."""

    model_config = example({"assignee": "user:ada"})

    assignee: Annotated[str, Field(min_length=1, max_length=200)] | None
    """`user:` and the name of a user who sees the deployment, or your own `actor`; null: nobody."""


class CommentIn(In):
    """A comment on an alert."""

    model_config = example({"text": _COMMENT["text"]})

    text: Annotated[str, Field(min_length=1, max_length=MAX_COMMENT)]
    """The comment, for the other readers."""


class CommentOut(Out):
    """One comment on an alert. It is never changed."""

    model_config = example(_COMMENT)

    id: str
    author: str
    """A key's id, or `user:` and a name."""

    text: str
    created_at: datetime


class CommentPage(PageOut):
    """Comments, oldest first."""

    comments: list[CommentOut]
    next_cursor: FollowingCursor


class AcknowledgementsIn(In):
    """Alerts to acknowledge together, with one note for all."""

    model_config = example(
        {"alerts": [_ALERT_ID], "note": "The new price list; the model is being retrained."}
    )

    alerts: Annotated[list[str], Field(min_length=1, max_length=MAX_ACKNOWLEDGED)]
    """Ids of alerts."""

    note: Annotated[str | None, Field(max_length=MAX_NOTE)] = Field(default=None)
    """The work that is being done about them, for the other readers."""


class AcknowledgementsOut(Out):
    """The alerts as they are now, in the order of the request. Those that are `resolved` were over before;
    no other is `open`.
    """

    alerts: list[AlertOut]
    acknowledged: int
    """How many of them this request acknowledged."""
