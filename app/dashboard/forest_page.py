"""Forest as a template shows it, with the drawer of the chosen row."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode

from pydantic import BaseModel, Field

from ..charts.forest import picture_of, strip_runs
from ..checks.attributing import sentences as attribution_words
from ..domain.alerts import Alert
from ..domain.attributions import AttributionRun
from ..evidence.sentences import State
from ..metrics.verdicts import Verdict
from ..tracking.looking import ComparisonState
from ..tracking.wording import list_notes
from ..views.forest import Forest, ForestRow
from ..views.forest_headline import SHARED_RECORDS, count_verdicts, day_of, share_records, word_figure, word_forest
from .forest_drawer import LONGEST, find_row, open_drawer, row_query

Label = Annotated[str, Field(max_length=LONGEST, pattern=r"^[^\x00]*$")]


class ChosenRow(BaseModel):
    attribute: Label = ""
    group: Label = ""


def show_forest(forest: Forest, chosen: ChosenRow, alerts: Sequence[Alert], attribution: AttributionRun | None) -> dict[str, object]:
    row = find_row(forest, attribute=chosen.attribute, group=chosen.group) if chosen.group else None
    sent = chosen.model_dump(mode="json", include=chosen.model_fields_set, exclude={"attribute", "group"}, exclude_none=True)
    return {
        "forest": forest,
        "headline": word_forest(forest),
        "picture": picture_of(forest),
        "strip_runs": strip_runs,
        "count_verdicts": count_verdicts,
        "shared_records": lambda strip: SHARED_RECORDS if share_records(strip) else "",
        "short_evidence": short_evidence,
        "explain_evidence": explain_evidence,
        "clause_of": lambda one, figure: word_figure(one, figure, forest.words),
        "query_of": lambda one: f"?{row_query(one, sent)}#drawer",
        "without_row": f"?{urlencode(sent)}",
        "drawer": None if row is None else open_drawer(forest, row, alerts, attribution),
        "attribution_words": attribution_words,
        "notes_of": list_notes,
    }


def short_evidence(state: ComparisonState | None, now: datetime) -> str:
    if state is None:
        return "none"
    since = "" if state.since is None else f" since {day_of(state.since, now.year)}"
    return {State.UNFAIR: f"unfair{since}", State.SHOWN_FAIR: f"shown fair{since}", State.UNDECIDED: "undecided"}[state.state]


_BY_VERDICT: Mapping[Verdict | None, str] = {
    Verdict.FAIR: "its figure and the whole 95 % interval are inside the limits",
    Verdict.UNDECIDED: "its figure is inside the limits, its 95 % interval is not",
    Verdict.SUSPECTED: "its figure is beyond a limit, its 95 % interval is not",
    Verdict.UNFAIR: "its figure and the whole 95 % interval are beyond a limit",
    Verdict.UNWATCHED: "its figure lies on the side that has no limit",
}
_BY_EVIDENCE: Mapping[State, str] = {
    State.UNFAIR: "refute that the group is inside its limits in every hour",
    State.SHOWN_FAIR: "refute that the group is at a limit or beyond it in every hour",
    State.UNDECIDED: "refute neither that the group is inside its limits nor that it is beyond one",
}
_ALIKE = {(Verdict.FAIR, State.SHOWN_FAIR), (Verdict.UNFAIR, State.UNFAIR)}


def explain_evidence(row: ForestRow) -> str | None:
    if row.evidence is None or row.verdict not in _BY_VERDICT or (row.verdict, row.evidence.state) in _ALIKE:
        return None
    return (
        f"The verdict is on the newest check alone: {_BY_VERDICT[row.verdict]}. The evidence is of all hours together, with a bound on"
        f" false alarms: they {_BY_EVIDENCE[row.evidence.state]}."
    )
