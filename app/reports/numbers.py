"""Figures of a report: four digits after the point, comparable with the API's."""

from datetime import datetime

from ..domain.checks import Measurement
from ..metrics.catalogue import CATALOGUE
from ..metrics.catalogue.metric import RateOf
from ..metrics.rounding import write_minus
from ..views.headlines import VERDICT_WORDS

ABSENT = "–"
_LARGE = 1000


def number(value: float | None) -> str:
    if value is None:
        return ABSENT
    return _format_like(value, value)


def share(value: float | None) -> str:
    return ABSENT if value is None else f"{100 * value:.2f} %"


def points(value: float | None) -> str:
    """Difference of two shares in percentage points with its sign, or a dash."""
    if value is None:
        return ABSENT
    rounded = round(100 * value, 2)
    return write_minus(f"{rounded:+.2f}") if rounded else "0.00"


def count(value: float) -> str:
    return f"{value:,.10g}"


def p_value(value: float | None) -> str:
    """Four digits, or a dash. One that a float cannot hold comes as 0, which no p-value is."""
    if value is None:
        return ABSENT
    return f"{value:.4g}" if value else "< 1e-300"


def interval(lower: float | None, upper: float | None, *, value: float | None = None) -> str:
    """95 % interval, with as many decimals as `value` has."""
    like = max(abs(end or 0.0) for end in (lower, upper)) if value is None else value
    low = "no lower end" if lower is None else _format_like(lower, like)
    return f"{low} to {'no upper end' if upper is None else _format_like(upper, like)}"


def share_interval(lower: float | None, upper: float | None) -> str:
    return ABSENT if lower is None or upper is None else f"{100 * lower:.2f} to {share(upper)}"


def points_interval(lower: float | None, upper: float | None) -> str:
    return ABSENT if lower is None or upper is None else f"{points(lower)} to {points(upper)}"


def value_of(measurement: Measurement) -> str:
    """Value as it is shown, or the reason why there is none."""
    if measurement.value is None:
        return f"none: {measurement.reason or 'no reason is known'}"
    is_share = isinstance(CATALOGUE[measurement.metric].measure, RateOf) if measurement.metric in CATALOGUE else False
    return share(measurement.value) if is_share else number(measurement.value)


def interval_of(measurement: Measurement) -> str:
    if measurement.value is None:
        return ABSENT
    is_share = isinstance(CATALOGUE[measurement.metric].measure, RateOf) if measurement.metric in CATALOGUE else False
    return (
        share_interval(measurement.lower, measurement.upper)
        if is_share
        else interval(measurement.lower, measurement.upper, value=measurement.value)
    )


def share_and_interval(measurement: Measurement | None) -> tuple[str, str]:
    if measurement is None or measurement.value is None:
        return (ABSENT if measurement is None else value_of(measurement)), ABSENT
    return share(measurement.value), share_interval(measurement.lower, measurement.upper)


def points_and_interval(measurement: Measurement | None) -> tuple[str, str]:
    if measurement is None or measurement.value is None:
        return (ABSENT if measurement is None else value_of(measurement)), ABSENT
    return points(measurement.value), points_interval(measurement.lower, measurement.upper)


def verdict_of(measurement: Measurement | None) -> str:
    if measurement is None:
        return ABSENT
    return VERDICT_WORDS[measurement.verdict]


def moment(at: datetime | None) -> str:
    """Moment in UTC."""
    return ABSENT if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _format_like(value: float, like: float) -> str:
    return write_minus(f"{value:,.1f}" if abs(like) >= _LARGE else f"{value:,.4f}")
