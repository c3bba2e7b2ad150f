"""What is said of a judged figure beside its own sentence: who is at a disadvantage, whether there is a gap, whether it is beyond a limit.

Each is one statement, made of the stored numbers alone. Pages, alerts, reports, the API and the command line say it in these words.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.metrics.catalogue import CATALOGUE
from app.metrics.catalogue.metric import Compared, Metric, OfPair, OverStrata
from app.metrics.rounding import digits_apart
from app.metrics.sentences import sentence
from app.metrics.sides import Disadvantaged, disadvantaged, is_ratio, mirror_of, turned
from app.metrics.verdicts import MINIMUM_GROUP_SIZE, OPEN, Limits, Verdict, is_inside, keeps_to, reaches

NO_VERDICT = "No verdict: no limit is set for this figure."
FEW_RECORDS = f"No verdict: a group that is compared has fewer than {MINIMUM_GROUP_SIZE} records."
NO_NUMBER = "No verdict: the figure cannot be computed."

SIGNIFICANT = 0.05
"""The p-value below which a gap counts as larger than chance explains, as 95 % intervals do."""

_SMALLEST_P, _MOST_OF_P = 0.0001, 4
_HUNDREDTHS = 2
_EXACT = "counted"
"""The method of an interval of what was counted, which no chance is in."""

_FAVOURED = frozenset({"favourable", "favourable_before", "favourable_after", "balanced_before", "balanced_after"})
"""The rates of which a ratio says how many times as often a group gets the favourable outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFigure:
    """One figure with its 95 % interval (an end of None is unbounded), its limits and its verdict. `details` are the measurement's.

    `method` names how the interval was made; None where there is no number.
    """

    metric: str
    scope: str
    value: float | None
    lower: float | None
    upper: float | None
    method: str | None
    limits: Limits
    verdict: str | None
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def row(self) -> Metric:
        """The metric's row of the catalogue."""
        return CATALOGUE[self.metric]

    @property
    def disadvantaged(self) -> Disadvantaged | None:
        """Who is at a disadvantage by the value; see `app.metrics.sides.disadvantaged`."""
        return disadvantaged(self.row, self.value, self.limits, self.verdict)

    @property
    def disadvantaged_group(self) -> str | None:
        """The name of the group at a disadvantage; None where nobody is, or nothing says so."""
        role = self.disadvantaged
        return None if role is None or role is Disadvantaged.NOBODY else self.named(role.value)

    def named(self, side: str) -> str:
        """The name of the group on that side, `monitored` or `reference`."""
        return str(self.details.get(side) or f"the {side} group")


def other_side(figure: JudgedFigure) -> str | None:
    """Returns who is at a disadvantage where it is the reference: of ratios of favourable outcomes as one, seen from its side.

    None where it is not, or nothing says so: there the figure's own sentence is about the group at a disadvantage already.
    """
    if figure.disadvantaged is not Disadvantaged.REFERENCE:
        return None
    if _is_of_favoured(figure.row):
        return _turned(figure)
    chance = "" if _excludes(figure, figure.row.ideal) else ", unless it is chance"
    return f"At a disadvantage{chance}: {_party(figure)}."


def gap_statement(figure: JudgedFigure) -> str | None:
    """Returns whether there is a gap at all, by the p-value and by whether the interval holds equality.

    None where there is no number, where a group has too few records to be judged, where the figure does not compare two groups, and
    where it is counted and no chance is in it. Where p-value and interval disagree, both are said and nothing is concluded.
    """
    is_asked = figure.verdict != Verdict.INSUFFICIENT_DATA and figure.method not in (None, _EXACT) and _compares(figure.row)
    if figure.value is None or not is_asked:
        return None
    if figure.value == figure.row.ideal:
        return "There is no gap in these records."
    excludes, p_value, equal = _excludes(figure, figure.row.ideal), figure.details.get("p_value"), as_text(figure.row.ideal)
    held = f"the 95 % interval {'excludes' if excludes else 'includes'} {equal}"
    if not isinstance(p_value, int | float):
        return f"{_LARGER if excludes else _CHANCE}: {held}."
    if excludes == (p_value < SIGNIFICANT):
        return f"{_LARGER if excludes else _CHANCE} ({_p(p_value)})."
    speaks = "leaves room for chance" if excludes else "speaks against it"
    return f"Whether the gap is chance is a close call: {_p(p_value)} {speaks}, but {held}."


_LARGER = "The gap is larger than chance explains"
_CHANCE = "The gap may be chance"


def limit_statement(figure: JudgedFigure) -> str:
    """Returns whether the figure is beyond a limit, and how sure that is; or why there is no verdict."""
    match figure.verdict:
        case Verdict.NOT_COMPUTABLE:
            return NO_NUMBER
        case Verdict.INSUFFICIENT_DATA:
            return FEW_RECORDS
        case Verdict.FAIR if figure.value is not None:
            return _inside(figure)
        case Verdict.UNWATCHED if figure.value is not None:
            return _unwatched(figure, figure.value)
        case Verdict.SUSPECTED | Verdict.UNFAIR if figure.value is not None:
            return _beyond(figure, figure.value)
        case _:
            return NO_VERDICT


def choice_statement(figure: JudgedFigure) -> str | None:
    """Returns of how many monitored groups the headline is, and why it is; None of other figures, and where there was no choice."""
    many = figure.details.get("chosen_from")
    if figure.scope != "worst" or figure.value is None or not isinstance(many, int) or many < 2:  # noqa: PLR2004 - a choice
        return None
    if figure.verdict == Verdict.INSUFFICIENT_DATA:
        return f"It is one of {many} monitored groups, all of them with too few records."
    if figure.limits == OPEN:
        place = "furthest from equality"
    elif not is_inside(figure.value, figure.limits):
        place = "furthest beyond its limits"
    elif figure.verdict == Verdict.UNWATCHED:
        place = "furthest beyond the mirror image of the limit"
    else:
        place = "nearest to a limit"
    few = f"groups of fewer than {MINIMUM_GROUP_SIZE} records stand back"
    return f"Of {many} monitored groups it lies {place}; {few}, and neither interval nor p-value allows for the choice."


def told(figure: JudgedFigure, reason: str | None = None) -> str:
    """Returns the figure's sentence, and where the reference is at a disadvantage who that is. `reason` says why there is no number."""
    ends = {"lower": figure.lower, "upper": figure.upper}
    whole = sentence(figure.metric, value=figure.value, **ends, reason=reason, details=figure.details)
    return " ".join(part for part in (whole, other_side(figure)) if part is not None)


def limits_in_words(limits: Limits) -> str:
    """Returns the limits as a range: `0.8 to 1.25`, `0.8 and more`, `up to 0.1`."""
    lower, upper = limits
    if lower is None or upper is None:
        return f"{as_text(lower)} and more" if upper is None else f"up to {as_text(upper)}"
    return f"{as_text(lower)} to {as_text(upper)}"


def _inside(figure: JudgedFigure) -> str:
    lower, upper = figure.limits
    is_one_sided = mirror_of(figure.row, figure.limits) != (None, None)
    name = "the one limit that is set" if is_one_sided else "the limit" if None in figure.limits else "the limits"
    lead = f"It is inside {name} ({limits_in_words(figure.limits)})"
    below, above = not _end_reaches(figure, lower), not _end_keeps_to(figure, upper)
    if not below and not above:
        return f"{lead}." if figure.method in (None, _EXACT) else f"{lead}, and so is its whole interval."
    ends = [_end(figure, figure.lower, lower)] if below else []
    ends += [_end(figure, figure.upper, upper)] if above else []
    limit = "either limit" if below and above else f"the limit of {as_text(lower if below else upper)}"
    return f"{lead}, but its interval {' and '.join(ends)}, so a value beyond {limit} is not ruled out."


def _beyond(figure: JudgedFigure, value: float) -> str:
    is_below = not reaches(value, figure.limits[0])
    limit, end = (figure.limits[0], figure.upper) if is_below else (figure.limits[1], figure.lower)
    if figure.verdict == Verdict.SUSPECTED:
        return f"Whether it is beyond the limit of {as_text(limit)} is not certain: its interval {_end(figure, end, limit)}."
    lead = f"It is beyond the limit of {as_text(limit)}{_exactly(figure, value)}"
    return f"{lead}." if figure.method in (None, _EXACT) else f"{lead}, and so is its whole interval."


def _unwatched(figure: JudgedFigure, value: float) -> str:
    mirror = mirror_of(figure.row, figure.limits)
    limit, end = (mirror[0], figure.upper) if mirror[0] is not None else (mirror[1], figure.lower)
    is_whole = not is_inside(end, mirror) if end is not None else False
    lead = f"It is inside the one limit that is set ({limits_in_words(figure.limits)}), but beyond its mirror image, {as_text(limit)}"
    more = " Its whole interval is beyond that, too." if is_whole else f" Its interval {_end(figure, end, limit)}."
    return f"{lead}{_exactly(figure, value)}: no limit is set on that side.{'' if figure.method in (None, _EXACT) else more}"


def _turned(figure: JudgedFigure) -> str | None:
    """The reference set against the monitored group."""
    other = None if figure.value is None else turned(figure.value, figure.lower, figure.upper)
    if other is None:
        return None
    value, interval = _numbers(figure, other.value, (other.lower, other.upper))
    return f"{_party(figure)} gets the favourable outcome {value} times as often as {figure.named('monitored')} ({interval})."


def _party(figure: JudgedFigure) -> str:
    """The reference by name and, where it stands in its own place, by role."""
    name = figure.named("reference")
    return name if figure.scope == "worst_pair" or "reference" in name else f"{name} (reference)"


def _numbers(figure: JudgedFigure, value: float, ends: tuple[float | None, float | None]) -> tuple[str, str]:
    """The ratio and its interval as texts, with digits that show each on its own side of equality and of the limits, turned or not."""
    marks = [mark for limit in (*figure.limits, *mirror_of(figure.row, figure.limits)) if limit for mark in (limit, 1 / limit)]
    digits = max(digits_apart(one, (0.0, 1.0, *marks), _HUNDREDTHS) for one in (value, *ends) if one is not None)
    low, high = (None if end is None else f"{end:.{digits}f}" for end in ends)
    return f"{value:.{digits}f}", f"95 %: {low} {'and more' if high is None else f'to {high}'}"


def _is_of_favoured(row: Metric) -> bool:
    return is_ratio(row) and isinstance(row.measure, Compared) and row.measure.rate in _FAVOURED


def _compares(row: Metric) -> bool:
    """Whether the figure sets two groups against each other and its interval reaches the ideal number where chance may have made it.

    A figure across all groups is above zero by chance alone, and so is its interval.
    """
    return isinstance(row.measure, Compared | OfPair | OverStrata) and row.ideal is not None


def _excludes(figure: JudgedFigure, equal: float | None) -> bool:
    if equal is None:
        return False
    return (figure.lower is not None and figure.lower > equal) or (figure.upper is not None and figure.upper < equal)


def _end_reaches(figure: JudgedFigure, limit: float | None) -> bool:
    """Whether the lower end of the interval is inside; an absent one is unbounded."""
    return limit is None or (figure.lower is not None and reaches(figure.lower, limit))


def _end_keeps_to(figure: JudgedFigure, limit: float | None) -> bool:
    return limit is None or (figure.upper is not None and keeps_to(figure.upper, limit))


def _end(figure: JudgedFigure, end: float | None, limit: float | None) -> str:
    """How far the interval goes, with digits that show on which side of the limit; of an end without a bound, that it has none."""
    if end is None:
        return f"has no {'lower' if figure.lower is None else 'upper'} end"
    return f"reaches {end:.{digits_apart(end, (limit, figure.row.ideal), _HUNDREDTHS)}f}"


def _exactly(figure: JudgedFigure, value: float) -> str:
    """The value, where with three digits it would look as if it were at the limit."""
    marks = (*figure.limits, *mirror_of(figure.row, figure.limits))
    digits = digits_apart(value, marks, _HUNDREDTHS)
    return "" if digits <= _HUNDREDTHS else f" (at {value:.{digits}f})"


def _p(p_value: float) -> str:
    """The p-value with two digits that count, at most four after the point, and on its own side of what counts as chance."""
    if p_value < _SMALLEST_P:
        return f"p < {_SMALLEST_P:.4f}"
    counting = min(_MOST_OF_P, 1 - math.floor(math.log10(p_value)))
    return f"p = {p_value:.{max(_HUNDREDTHS, counting, digits_apart(p_value, (SIGNIFICANT,), _HUNDREDTHS))}f}"


def as_text(number: float | None) -> str:
    """Returns a limit or another round number as it is shown: with six digits at most, and nothing where there is none."""
    return "" if number is None else f"{number:.6g}"
