"""Labels that are still coming at the end of a log."""

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri, xlogy

from ..errors import InvalidInput
from ..frozen import frozen
from ..metrics.groups import FloatArray, IntArray
from .grouping import FrameGrouping
from .times import DAY_HOURS, HourNumbers

BoolArray = npt.NDArray[np.bool_]

HOUR_SECONDS = 3_600
DAY_SECONDS = DAY_HOURS * HOUR_SECONDS

UNLIKELY = 0.001
"""Probability of calling labels late that are missing by chance at one rate."""


@frozen(eq=False)
class LabelLag:
    """Records that are old enough for figures of labels, and how that is said; None where all are."""

    settled: BoolArray
    sentence: str | None


def settle_labels(grouping: FrameGrouping, hours: HourNumbers, counted: BoolArray, labelled: BoolArray, horizon: float | None) -> LabelLag:
    """Leaves out records within `horizon` hours of the last one; None: those of the last days, if they lack more labels than others.

    Raises:
        InvalidInput: no record is older than the horizon.
    """
    ages = int(hours.seconds[hours.usable].max()) - hours.seconds
    if horizon is not None:
        settled = ages >= horizon * HOUR_SECONDS
        old = settled & counted
        if not old.any():
            raise InvalidInput.of("horizon", f"must be shorter than the log, found {horizon:g} hours")
        long = f"{horizon:g} hours" if horizon % DAY_HOURS else f"{horizon / DAY_HOURS:g} days"
        have = f"the {old.sum():,} of {counted.sum():,} records that are {long} older than the last, or more"
        return LabelLag(settled, f"Figures of labels count {have}; {(old & labelled).sum():,} have a label." if horizon else None)
    days = find_late_days(ages // DAY_SECONDS, grouping, counted, labelled)
    settled = ages >= days * DAY_SECONDS
    if not days:
        return LabelLag(settled, None)
    late = counted & ~settled
    names = [(group.label, late & (grouping.codes == place)) for place, group in enumerate(grouping.groups)]
    each = ", ".join(f"{name} {(of & labelled).sum():,} of {of.sum():,}" for name, of in names)
    span = "day" if days == 1 else f"{days} days"
    before = f"{(counted & settled & labelled).sum():,} of {(counted & settled).sum():,}"
    return LabelLag(
        settled,
        f"Warning: labels are still coming. Of the {late.sum():,} records of the last {span} {(late & labelled).sum():,} have one"
        f" ({each}), of those before {before}. No figure of labels counts them; say with --horizon how long labels take, 0h if they"
        " are complete.",
    )


def find_late_days(ages: IntArray, grouping: FrameGrouping, counted: BoolArray, labelled: BoolArray) -> int:
    """Number of last days, at most half, in which labels are likeliest to be fewer than before; 0 where chance explains it."""
    grouped = counted & (grouping.codes >= 0)
    days, size = int(ages[grouped].max(initial=0)) + 1, len(grouping.groups)
    places = grouping.codes[grouped].astype(np.int64) * days + ages[grouped]
    total, having = (
        np.bincount(places[which], minlength=size * days).reshape(size, days).astype(np.float64)
        for which in (np.ones(places.size, dtype=np.bool_), labelled[grouped])
    )
    last, last_having = (part.cumsum(axis=1)[:, : days // 2] for part in (total, having))
    if not last.size:
        return 0
    before, before_having = (part.sum(axis=1, keepdims=True) - tail for part, tail in ((total, last), (having, last_having)))
    gains = _likelihood(last_having, last) + _likelihood(before_having, before) - _likelihood(last_having + before_having, last + before)
    gain = np.where(last_having * before < before_having * last, gains, 0.0).sum(axis=0)
    return int(gain.argmax()) + 1 if 2 * gain.max() > chdtri(size, UNLIKELY / gain.size) else 0


def _likelihood(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Largest logarithm of the likelihood of so many of the whole."""
    share = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    likelihood: FloatArray = xlogy(part, share) + xlogy(whole - part, 1 - share)
    return likelihood
