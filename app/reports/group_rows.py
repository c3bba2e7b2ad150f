"""Rows of a report's forest plot."""

from ..charts.ratio_pictures import RatioMark, row_svg
from ..domain.checks import Measurement
from ..evidence.sentences import State
from ..metrics.catalogue import CATALOGUE
from ..metrics.rounding import digits_apart, join_of, write_minus
from ..metrics.sides import both_sides
from ..metrics.verdicts import Limits
from ..views.forest import ForestRow
from ..views.headlines import VERDICT_WORDS
from .document import GroupRow
from .numbers import ABSENT

_TWO_DIGITS = 2
_STATES = {State.UNFAIR: "unfair since", State.SHOWN_FAIR: "shown fair since"}


def group_row(row: ForestRow, *, has_picture: bool) -> GroupRow:
    """Without a picture where the figures are no ratios."""
    figures, evidence = row.figures, row.evidence
    since = ABSENT
    if evidence is not None and evidence.since is not None and evidence.state in _STATES:
        since = f"{_STATES[evidence.state]} {evidence.since:%Y-%m-%d}"
    elif evidence is not None:
        since = "undecided"
    counts = [ABSENT if count is None else f"{count:,}" for count in (row.n, row.n_reference)]
    limits = next(((one.measurement.lower_limit, one.measurement.upper_limit) for one in figures), (None, None))
    drawn = [
        RatioMark(value=one.value, lower=one.lower, upper=one.upper, verdict=one.verdict, is_hollow=figure is row.counterfactual)
        for figure in figures
        if (one := figure.measurement).value is not None
    ]
    return GroupRow(
        attribute=row.attribute,
        group=row.name,
        records=" / ".join(counts),
        picture=row_svg(drawn, both_sides(CATALOGUE[figures[0].measurement.metric], limits)) if has_picture else "",
        logged=ABSENT if row.logged is None else say_value(row.logged.measurement),
        counterfactual=ABSENT if row.counterfactual is None else say_value(row.counterfactual.measurement),
        verdict=VERDICT_WORDS[row.verdict],
        since=since,
    )


def say_value(one: Measurement) -> str:
    """Figure with its interval: `0.26 (0.15–0.46)`, with digits that show each number on its side of the limits."""
    if one.value is None:
        return "none"
    limits: Limits = (one.lower_limit, one.upper_limit)
    marks = (*both_sides(CATALOGUE[one.metric], limits), CATALOGUE[one.metric].ideal)
    digits = max(digits_apart(end, marks, _TWO_DIGITS) for end in (one.value, one.lower, one.upper) if end is not None)
    value, low, high = (None if end is None else write_minus(f"{end:.{digits}f}") for end in (one.value, one.lower, one.upper))
    if low is None:
        return f"{value} (no interval)" if high is None else f"{value} (up to {high})"
    return f"{value} ({low} and more)" if high is None else f"{value} ({low}{join_of(one.lower or 0.0)}{high})"
