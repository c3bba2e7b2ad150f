"""States and labels of a comparison, the one statement on its figure, and the words of its guarantee."""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial

from ...base.values import frozen, frozen_by_name
from ..intervals.intervals import Ends, Z
from ..intervals.rate_estimates import ShareComparison
from ..intervals.verdicts import MINIMUM_GROUP_SIZE, Limits, Value, Verdict, is_inside, judge_number
from ..sentences.figure_sentences import say_how_often, say_of_100, say_percent, write_minus
from .nulls import HOURS_OF_A_YEAR

MINUTE, DAY = "%Y-%m-%d %H:%M", "%Y-%m-%d"

MAX_RANGE_IN_HOURS = timedelta(hours=24)
"""Range of a start; in a wider one days are named, no hours."""

SINGLE_CHECKS_ALARM = (
    "Each check is judged by itself, so a rule about verdicts opens alerts on fair models, too: in "
    "simulations with 300 records an hour and the limit 0.8, a model whose true disparate impact is 0.85 is "
    "called unfair in about 4 hours of 1,000."
)

NOT_COVERED = (
    "False means inside the limit in every hour. Not covered: labels that are missing for a reason, "
    "corrections that depend on the outcome."
)


class State(StrEnum):
    """State of a comparison over time."""

    UNFAIR = "unfair"
    SHOWN_FAIR = "shown_fair"
    UNDECIDED = "undecided"


class EvidenceState(StrEnum):
    """Evidence on a figure; of two limits, the first in this order counts."""

    UNFAIR_SINCE = "unfair since"
    SUPERSEDED = "superseded"
    CLOSED = "closed by hand"
    RESOLVED = "resolved"
    SOME_GROUP = "some group"
    UNDECIDED = "undecided"
    COLLECTING = "collecting"
    NONE_YET = "none yet"
    CONFIRMED_FAIR = "confirmed fair"


class FigureLabel(StrEnum):
    """Evidence on a figure, its newest hour and its alert in one word."""

    UNFAIR = "Unfair"
    UNDER_REVIEW = "Unfair, under review"
    RESTARTED = "Restarted"
    CLOSED = "Closed"
    RESOLVED = "Resolved"
    CONFIRMED_FAIR = "Confirmed fair"
    SUSPECTED = "Suspected"
    FAIR = "Fair"
    UNDECIDED = "Undecided"
    TOO_FEW = "Too few records"
    NOT_COMPUTABLE = "Not computable"


class IntervalKind(StrEnum):
    """Records that an interval is of."""

    ONSET = "since the onset"
    CHAPTER = "valid at every look"
    HOUR = "this hour"


VERDICTS = {
    FigureLabel.UNFAIR: Verdict.UNFAIR,
    FigureLabel.UNDER_REVIEW: Verdict.UNFAIR,
    FigureLabel.SUSPECTED: Verdict.SUSPECTED,
    FigureLabel.CONFIRMED_FAIR: Verdict.FAIR,
    FigureLabel.FAIR: Verdict.FAIR,
}
"""Verdict as grave as a state; all others are undecided."""

FAVOURABLE_RATE = "the favourable rate"

RATE_PHRASES = {
    "true_positive_rate_difference": "the true positive rate",
    "false_positive_rate_difference": "the false positive rate",
    "accuracy_difference": "the accuracy",
}
"""Compared rates by metric; other metrics compare the favourable one."""

_LABELS = {
    1: FigureLabel.UNFAIR,
    2: FigureLabel.UNDER_REVIEW,
    3: FigureLabel.RESTARTED,
    4: FigureLabel.CLOSED,
    5: FigureLabel.RESOLVED,
    6: FigureLabel.CONFIRMED_FAIR,
    7: FigureLabel.SUSPECTED,
    8: FigureLabel.UNDECIDED,
    9: FigureLabel.SUSPECTED,
    10: FigureLabel.FAIR,
    11: FigureLabel.UNDECIDED,
    12: FigureLabel.TOO_FEW,
    13: FigureLabel.NOT_COMPUTABLE,
}
"""Label of each row of the table of states."""

_ROWS_OF_EVIDENCE = {
    EvidenceState.UNFAIR_SINCE: 1,
    EvidenceState.SUPERSEDED: 3,
    EvidenceState.CLOSED: 4,
    EvidenceState.RESOLVED: 5,
}
"""Rows that evidence decides alone; the next is that of an open alert."""

_OPEN_ALERT_ROW = 2
_CONFIRMED_FAIR_ROW = 6
_ROWS_OF_HOUR = {
    Verdict.SUSPECTED: 9,
    Verdict.UNFAIR: 9,
    Verdict.FAIR: 10,
    Verdict.UNWATCHED: 10,
    Verdict.UNDECIDED: 11,
    Verdict.INSUFFICIENT_DATA: 12,
    Verdict.NOT_COMPUTABLE: 13,
}
"""Rows that the judged records decide if nothing else does."""

_ROWS_WITH_NEWEST_HOUR = frozenset({1, 2, 3, 4, 5, 6, 8})
"""Rows whose sentence is followed by one on the newest hour."""

_NEWEST_HOUR = {
    9: "lies outside.",
    10: "lies inside.",
    11: "lies inside.",
    12: "has too few records.",
    13: "has no figure: {reason}.",
}

_TEMPLATES = {
    1: "{fact} since {since}; {limit}.",
    2: "The alert of {event} is open; {changed}, and the evidence is below its "
    "threshold now. {Fact} since {since}; {limit}.",
    3: "New {event}: evidence begins again. {Fact}; {limit}.",
    4: "Closed on {event}: evidence begins again. {Fact}; {limit}.",
    5: "Back inside its limit since {event}, outside since {since}. {Fact}; {limit}.",
    6: "The {block}s since {since} show that it was not outside its limit in all of them. {Fact}; {limit}.",
    7: "{fact}; {outside_records} outside its limit, and some group of this deployment is unfair, not yet "
    "clear which. {Limit}.",
    8: "Some group of this deployment is unfair, not yet clear which. {Fact}; {limit}.",
    9: "{fact}; {outside_records} outside its limit, which is no evidence yet ({more}). {Limit}.",
    10: "{fact}; inside its limit with the whole interval of the {block}, not confirmed over time yet "
    "({more}). {Limit}.",
    11: "{fact}; inside its limit, but so few records may differ by chance ({more}). {Limit}.",
    12: "{monitored:,} monitored and {n_reference:,} reference records in this {block}; {needed} are needed. "
    "{Fact}.",
    13: "{Reason}. {Fact}.",
}


@frozen_by_name
class RatesCompared:
    """Favourable and all records, monitored first, and a 95 % interval; an end of None is open."""

    monitored: tuple[float, float]
    reference: tuple[float, float]
    interval: Ends | None = None
    since: str | None = None


@frozen_by_name
class FigureFacts:
    """Facts that decide the state of a figure and make its sentence. `outcome` is a verb, `rate` a title.

    `verdict` is of the newest hour, with the `reason` if it has no figure. While an alarm is open, its
    records are in `onset`, else in `chapter`. `more` says how many more records are needed, `event` when or
    why the evidence ended. A `block` of evidence is an hour or a day.
    """

    group: str
    reference: str
    outcome: str
    rate: str
    is_ratio: bool
    is_reversed: bool = False
    is_counterfactual: bool = False
    lower_limit: float | None
    upper_limit: float | None
    verdict: Verdict
    evidence: EvidenceState
    is_alert_open: bool = False
    hour: RatesCompared | None = None
    chapter: RatesCompared | None = None
    onset: RatesCompared | None = None
    reason: str = "no hour has been counted yet"
    more: str = "how many more cannot be estimated"
    event: str = ""
    since: str = ""
    corrected: int = 0
    block: str = "hour"


@frozen_by_name
class FigureJudgement:
    """State of a figure: `row` of the table of states; `value` and `compared` are of the leading interval."""

    row: int
    state: FigureLabel
    interval: Ends | None
    interval_kind: IntervalKind | None
    value: float | None = None
    compared: RatesCompared | None = None

    @property
    def span(self) -> tuple[IntervalKind | None, str | None]:
        """Time that a statement is about, for comparing statements."""
        return self.interval_kind, None if self.compared is None else self.compared.since

    @property
    def verdict(self) -> Verdict:
        return VERDICTS.get(self.state, Verdict.UNDECIDED)

    @property
    def records(self) -> tuple[int, int] | None:
        if self.compared is None:
            return None
        return round(self.compared.monitored[1]), round(self.compared.reference[1])


@frozen_by_name
class FigureStatement(FigureJudgement):
    """A judgement with its sentence; `fact` is the part on the records of the leading interval."""

    sentence: str
    fact: str = ""


@frozen
class JudgedHour:
    """Verdict on an hour alone, with the `reason` if it has no figure; `compared` is None without one."""

    compared: RatesCompared | None
    verdict: Verdict
    reason: str = ""


def choose_form(earliest: datetime | None, latest: datetime | None, form: str) -> str:
    return (
        DAY
        if earliest is not None and latest is not None and latest - earliest > MAX_RANGE_IN_HOURS
        else form
    )


def say_start(
    since: datetime,
    earliest: datetime | None,
    latest: datetime | None,
    form: str = MINUTE,
    *,
    is_first: bool = False,
) -> str:
    """Writes the start of a state, and the times between which it may be. All are aware, in UTC.

    `is_first`: nothing before it was counted.
    """
    chosen = choose_form(earliest, latest, form)
    between = ""
    if earliest and latest and earliest != latest:
        closing = "%H:%M" if chosen == MINUTE and earliest.date() == latest.date() else chosen
        between = f" (between {earliest:{chosen}} and {latest:{closing}})"
    return f"{'about ' if chosen != form else ''}{since:{chosen}}{between}{' or before' if is_first else ''}"


def judge_hour(
    counts: Sequence[float] | None, comparison: ShareComparison, limits: Limits, *, both: float | None
) -> JudgedHour:
    """Judges an hour alone by favourable and all records of the monitored group, then of the reference.

    `both`: of records that are on both sides, how many are favourable on both; None if none is.
    """
    if counts is None:
        return JudgedHour(None, Verdict.NOT_COMPUTABLE, "no hour has been counted yet")
    part, whole, other_part, other_whole = counts
    compared = partial(RatesCompared, monitored=(part, whole), reference=(other_part, other_whole))
    if min(whole, other_whole) < MINIMUM_GROUP_SIZE:
        return JudgedHour(compared(), Verdict.INSUFFICIENT_DATA)
    if comparison.divides and not other_part:
        reason = f"none of the {other_whole:,.0f} reference records is favourable"
        return JudgedHour(compared(), Verdict.NOT_COMPUTABLE, reason)
    value = float(comparison.of_rates(part / whole, other_part / other_whole))
    interval = (
        comparison.interval(part, whole, other_part, other_whole, Z)
        if both is None
        else comparison.paired(both, part - both, other_part - both, whole - part - other_part + both)
    )
    ends = min(interval.lower, value), None if interval.upper is None else max(interval.upper, value)
    judged = judge_number(
        Value(value, *ends, interval.method, round(whole + other_whole)),
        lower_limit=limits[0],
        upper_limit=limits[1],
        smallest_group=None,
    )
    return JudgedHour(compared(interval=ends), judged or Verdict.FAIR)


def choose_state_row(
    hour_verdict: Verdict, evidence: EvidenceState, *, is_alert_open: bool
) -> tuple[int, FigureLabel]:
    """Chooses the row of the table of states; the first cause that applies counts."""
    row = _ROWS_OF_HOUR[hour_verdict]
    if evidence in _ROWS_OF_EVIDENCE:
        row = _ROWS_OF_EVIDENCE[evidence]
    elif is_alert_open:
        row = _OPEN_ALERT_ROW
    elif evidence is EvidenceState.CONFIRMED_FAIR:
        row = _CONFIRMED_FAIR_ROW
    elif evidence is EvidenceState.SOME_GROUP:
        row = 7 if _LABELS[row] is FigureLabel.SUSPECTED else 8
    return row, _LABELS[row]


def judge_figure(facts: FigureFacts) -> FigureJudgement:
    """Judges by the records since the onset if unfair, else of the chapter, or of the newest hour."""
    leading = facts.hour
    kind = IntervalKind.HOUR
    if facts.chapter is not None and facts.chapter.interval not in (None, (None, None)):
        leading = facts.chapter
        kind = IntervalKind.CHAPTER
    hour_verdict = facts.verdict
    if hour_verdict in {Verdict.FAIR, Verdict.UNDECIDED, Verdict.UNWATCHED} and _is_outside(facts, leading):
        hour_verdict = Verdict.SUSPECTED
    row, state = choose_state_row(hour_verdict, facts.evidence, is_alert_open=facts.is_alert_open)
    if state in {FigureLabel.UNFAIR, FigureLabel.UNDER_REVIEW}:
        leading = facts.onset
        kind = IntervalKind.ONSET
    return FigureJudgement(
        row=row,
        state=state,
        interval=None if leading is None else leading.interval,
        interval_kind=None if leading is None or leading.interval is None else kind,
        value=None if leading is None else find_value(facts, leading),
        compared=leading,
    )


def describe_figure(facts: FigureFacts) -> FigureStatement:
    """Writes the one statement on a figure for pages, alerts, reports, API and commands."""
    judged = judge_figure(facts)
    row = judged.row
    leading = judged.compared
    fact = "" if leading is None else say_fact(facts, leading)
    outside_records = f"the newest {facts.block} alone lies"
    is_of_chapter = judged.interval_kind is IntervalKind.CHAPTER
    if is_of_chapter and leading is not None and leading.since and _is_outside(facts, leading):
        outside_records = f"the records since {leading.since} lie"
    template = _TEMPLATES[row]
    if not fact:
        template = template.replace("{Fact}; {limit}", "{Limit}").replace(" {Fact}.", "")
    sentence = template.format(
        fact=fact,
        Fact=capitalise(fact),
        limit=_say_limits(facts),
        Limit=capitalise(_say_limits(facts)),
        Reason=capitalise(facts.reason),
        outside_records=outside_records,
        **{name: getattr(facts, name) for name in ("event", "since", "more", "block")},
        changed=_say_corrected(facts.corrected),
        monitored=0 if facts.hour is None else round(facts.hour.monitored[1]),
        n_reference=0 if facts.hour is None else round(facts.hour.reference[1]),
        needed=f"{MINIMUM_GROUP_SIZE} of each",
    )
    if row in _ROWS_WITH_NEWEST_HOUR:
        alone = _NEWEST_HOUR[_ROWS_OF_HOUR[facts.verdict]].format(reason=facts.reason)
        sentence += f" The newest {facts.block} alone {alone}"
    return FigureStatement(
        row=row,
        state=judged.state,
        sentence=capitalise(" ".join(sentence.split())),
        interval=judged.interval,
        interval_kind=judged.interval_kind,
        fact=capitalise(fact),
        value=judged.value,
        compared=leading,
    )


def find_value(facts: FigureFacts, compared: RatesCompared) -> float | None:
    """Ratio of the rates, or their difference; None without records, or a ratio to no favourable record."""
    if not compared.monitored[1] or not compared.reference[1]:
        return None
    rate, reference = (part / whole for part, whole in (compared.monitored, compared.reference))
    if not facts.is_ratio:
        return reference - rate if facts.is_reversed else rate - reference
    return rate / reference if reference else None


def say_fact(facts: FigureFacts, compared: RatesCompared) -> str:
    """Says how the two rates compare, in lower case, without a full stop; "" without records of both."""
    if not compared.monitored[1] or not compared.reference[1]:
        return ""
    lead = "with everything else equal, " if facts.is_counterfactual else ""
    rates = [part / whole for part, whole in (compared.monitored, compared.reference)]
    if not facts.is_ratio:
        shown = [say_percent(rate) for rate in rates]
        return f"{lead}{facts.rate} is {shown[0]} % for {facts.group} and {shown[1]} % for {facts.reference}"
    ratio = find_value(facts, compared)
    if ratio is None:
        return f"{lead}no record of {facts.reference} is favourable {say_of_100(*rates)}"
    how = say_how_often(ratio)
    return f"{lead}{facts.group} {facts.outcome} {how} {facts.reference} {say_of_100(*rates)}"


def say_more_records(number: float) -> str:
    """Writes `about 900 more records`, rounded up to two digits."""
    scale = 10 ** max(len(str(math.ceil(number))) - 2, 0)
    rounded = math.ceil(number / scale) * scale
    return f"about {rounded:,} more {'record' if rounded == 1 else 'records'}"


def capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


def say_some_group(comparisons: int, leading: Iterable[str]) -> str:
    """Says that one of so many comparisons is outside, and which have most evidence."""
    return (
        f"At least one of {comparisons:,} comparisons is outside its limit; not yet clear which. "
        f"Most evidence so far: {', '.join(leading)}."
    )


def say_guarantee(
    comparisons: int, budget_hours: float, *, by_person: bool = False, declared: tuple[str, str] | None = None
) -> str:
    """Says the bound on false alarms and its condition.

    `declared` says who declared that each record is another person, and when.
    """
    budget = f"{budget_hours:,.0f}"
    rate = "a year" if budget_hours == HOURS_OF_A_YEAR else f"in {budget} blocks"
    if by_person:
        condition = "counting each person's first record only"
    elif declared is not None:
        condition = f"if each record is another person, as declared by {declared[0]} on {declared[1]}"
    else:
        condition = (
            "if nobody has more than 10 records in an hour or comes back in another; who the records are of "
            "has not been said, so evidence counts at a tenth"
        )
    together = (
        "for the one comparison" if comparisons == 1 else f"for all {comparisons:,} comparisons together"
    )
    return (
        f"At most one false alarm {rate} on average {together} (at most H/{budget} in any H hours), "
        f"{condition}."
    )


def _is_outside(facts: FigureFacts, compared: RatesCompared | None) -> bool:
    value = None if compared is None else find_value(facts, compared)
    return value is not None and not is_inside(value, (facts.lower_limit, facts.upper_limit))


def _say_corrected(count: int) -> str:
    if not count:
        return "past hours have changed since"
    return f"{count:,} {'record was' if count == 1 else 'records were'} corrected since"


def _say_limits(facts: FigureFacts) -> str:
    figure = "the ratio" if facts.is_ratio else "the difference"
    lower, upper = (
        None if limit is None else write_minus(f"{limit:g}")
        for limit in (facts.lower_limit, facts.upper_limit)
    )
    if lower is not None and upper is not None:
        return f"{figure} must lie between {lower} and {upper}"
    return f"{figure} must be at {f'least {lower}' if upper is None else f'most {upper}'}"
