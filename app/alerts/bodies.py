"""Alerts, and the work on them, as bodies."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from ..domain.alert import Alert, AlertFigure, AlertKind, AlertState, ClosingReason, Resolution, RuleKind
from ..domain.check import DataSet
from ..evidence.attribution.bodies import ChangedGapOut
from ..statistics.e_values.nulls import UnfairSide
from ..web.body import FollowingCursor, FromText, In, Out, PageOut, example

MAX_NOTE_CHARACTERS = 2000

_FACTS = {
    "sentence": "Of every 100 records of female, 7.9 were predicted favourable; of every 100 of male, 26.3: "
    "a ratio of 0.302 (95 %: 0.272 to 0.334). The gap is larger than chance explains (p < 0.0001). It is "
    "beyond the limit of 0.8, and so is its whole interval.",
    "display_sentence": None,
    "since": "2026-11-20T13:00:00Z",
    "metric": "disparate_impact",
    "data": "as_logged",
    "direction": "below",
    "value": 0.3015654720858779,
    "lower": 0.2724,
    "upper": 0.3339,
    "n_monitored": 5120,
    "n_reference": 9940,
    "lower_limit": 0.8,
    "upper_limit": 1.25,
}
_FIGURE = {
    "rule_id": "unfair",
    "rule_name": "Unfair outcomes",
    "kind": "verdict",
    **_FACTS,
    "facts": {"check_id": "6f1c2d3e-4b5a-4978-8c9d-0e1f2a3b4c5d", "checks_in_a_row": 3},
    "opened_at": "2026-11-20T15:00:41Z",
    "last_seen_at": "2026-11-20T15:00:41Z",
    "ended_at": None,
    "resolution": None,
}
_ALERT = {
    "id": "0c3a7a55-1f6b-4f0e-9d0a-6d3a5a0f2c11",
    "deployment_id": "credit-risk",
    "deployment_name": "Credit risk",
    "state": "acknowledged",
    "kind": "unfair",
    "attribute": "Sex",
    "group": "female",
    "group_name": "women",
    **_FACTS,
    "figures": [_FIGURE],
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


class FigureFactsOut(Out):
    """Facts of a figure as a rule saw it last. Of a whole deployment most members are null."""

    sentence: str
    """The figure in words; of an ended one, how it ended."""

    display_sentence: str | None
    """The same with display names, where there are any."""

    since: datetime | None
    """The most likely first hour of evidence; the first check in a row of a verdict."""

    metric: str | None
    data: DataSet | None
    direction: UnfairSide | None
    """The side of the limit on which the figure is."""

    value: float | None
    lower: float | None
    """The lower end of the 95 % interval: of evidence the one since its start, of a verdict the check's."""

    upper: float | None
    n_monitored: int | None
    """Records of the monitored group that value and interval are based on."""

    n_reference: int | None
    lower_limit: float | None
    upper_limit: float | None


class AlertFigureOut(FigureFactsOut):
    """One figure of an alert that a rule is about."""

    model_config = example(_FIGURE)

    rule_id: str
    """The rule that is about it, which may have been deleted since."""

    rule_name: str
    """As the rule was called then."""

    kind: RuleKind
    facts: dict[str, Any]
    """All facts, as they were last seen: also the check, for how many checks in a row, who is at a
    disadvantage, and `counted`, the left-out line with its cautions. `recovery` is what showed that it has
    passed."""

    opened_at: datetime
    last_seen_at: datetime
    """When it was last found to hold."""

    ended_at: datetime | None
    resolution: Resolution | None
    """Why it ended, as of the alert."""

    @classmethod
    def of(cls, figure: AlertFigure) -> "AlertFigureOut":
        return cls.from_object(figure, **read_facts(figure))


FACTS = (
    *("display_sentence", "since", "direction", "value", "lower", "upper"),
    *("n_monitored", "n_reference", "lower_limit", "upper_limit"),
)


def read_facts(figure: AlertFigure) -> dict[str, Any]:
    read = {name: figure.facts.get(name) for name in FACTS}
    sentence = figure.facts.get("sentence", "")
    return {**read, "sentence": sentence, "metric": figure.metric, "data": figure.data}


class AlertChangeOut(ChangedGapOut):
    """Why the gap of an alert on evidence changed, before its onset against after it."""

    sentence: str
    display_sentence: str | None = None
    """The same with display names, where there are any."""

    attribution_id: str
    """The attribution that found it, with the counts."""


class AlertOut(FigureFactsOut):
    """One alert: all that is wrong with one group, or with the deployment as a whole.

    The members of a figure are those of the worst one that is open.
    """

    model_config = example(_ALERT)

    id: str
    deployment_id: str
    deployment_name: str
    state: AlertState
    """`open`; `acknowledged`: somebody works on it; `resolved`: it is over."""

    kind: AlertKind
    """`unfair`: a group; `some_group`: at least one comparison is outside its limit, not yet clear which;
    else a fault of the deployment."""

    attribute: str | None
    group: str | None
    """Null of a whole deployment, and where the rule is about the group furthest out, whichever it is."""

    group_name: str | None
    """The group by its display name, or else its label."""

    figures: list[AlertFigureOut]
    """The worst open one first, then those that have ended. The alert is resolved with the last."""

    opened_at: datetime
    last_seen_at: datetime
    """When a figure was last found to hold."""

    reminded_at: datetime | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    """A key's id, or `user:` and a name."""

    note: str | None
    resolved_at: datetime | None
    resolution: Resolution | None
    """`recovered`; `closed` by a person; `named`: some group's, once it is clear which; or why no rule
    watches it any more."""

    closed_by: str | None
    """Who closed it by hand: a key's id, or `user:` and a name."""

    closing_note: str | None
    closing_reason: ClosingReason | None
    """Why it was closed by hand, as far as the person said; the note says more."""

    assignee: str | None
    """Who works on it: a key's id, or `user:` and a name. Null: nobody is assigned."""

    assigned_at: datetime | None
    change: AlertChangeOut | None
    """Of evidence: why the favourable rates of logged records changed. It is computed after the alert has
    opened; null until then, and for other kinds."""

    @classmethod
    def of(cls, alert: Alert) -> "AlertOut":
        figures = [AlertFigureOut.of(figure) for figure in alert.figures]
        return cls.from_object(alert, figures=figures, **read_facts(alert.worst))


class AlertPage(PageOut):
    """Alerts, newest first."""

    alerts: list[AlertOut]
    next_cursor: FollowingCursor


class ClosureIn(In):
    """The note of a person who closes an alert with evidence."""

    model_config = example({"note": "The threshold of the model was corrected on Friday.", "reason": "fixed"})

    note: Annotated[str, Field(min_length=1, max_length=MAX_NOTE_CHARACTERS)]
    """Why it is closed, for the other readers."""

    reason: FromText[ClosingReason] | None = None
    """`fixed`: the cause was removed; `justified`: the difference has a lawful reason, which the note
    names; `data_error`: the records or labels were wrong; `other`."""


class AcknowledgementIn(In):
    """The note of a person who acknowledges an alert."""

    model_config = example({"note": _ALERT["note"]})

    note: Annotated[str | None, Field(max_length=MAX_NOTE_CHARACTERS)] = Field(default=None)
    """The work that is being done about it, for the other readers."""


MAX_COMMENT_CHARACTERS = 10_000
MAX_AT_ONCE = 500

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

    text: Annotated[str, Field(min_length=1, max_length=MAX_COMMENT_CHARACTERS)]
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


class _Alerts(In):
    alerts: Annotated[list[str], Field(min_length=1, max_length=MAX_AT_ONCE)]
    """Ids of alerts."""


class AcknowledgementsIn(AcknowledgementIn, _Alerts):
    """Alerts to acknowledge together, with one note for all."""

    model_config = example({"alerts": [_ALERT_ID], "note": _ALERT["note"]})


class AssignmentsIn(AssignmentIn, _Alerts):
    """Alerts to assign together to one person."""

    model_config = example({"alerts": [_ALERT_ID], "assignee": "user:ada"})


class ClosuresIn(ClosureIn, _Alerts):
    """Alerts with evidence to close together, with one note for all."""

    model_config = example({"alerts": [_ALERT_ID], "note": "The threshold was corrected on Friday."})


class ChangedAlertsOut(Out):
    """The alerts as they are now, in the order of the request. Those that are `resolved` were over before,
    unless they were closed.
    """

    alerts: list[AlertOut]
    changed: int
    """How many of them this request changed."""
