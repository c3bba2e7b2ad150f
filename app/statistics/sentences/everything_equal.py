"""Part of a gap that stays with everything else equal, and its sentence."""

from math import log

from .figure_sentences import count_digits

NONE_STAYS, ALL_STAYS = 0.2, 0.8
"""Parts of a gap up to which none is said to stay, and from which all."""

Ratio = tuple[float, float | None, float | None]
"""Ratio of two rates and its 95 % interval; an end of None is open."""


def may_be_equal(ratio: Ratio) -> bool:
    """Whether the interval holds 1."""
    _, low, high = ratio
    return (low or 0.0) <= 1 and (high is None or high >= 1)


def find_stays(logged: Ratio | None, counterfactual: Ratio | None) -> float | None:
    """Part of the gap that stays with everything else equal, of logarithms; negative where it turns round.

    None where a ratio is not known or 0, or there is no gap.
    """
    if logged is None or counterfactual is None or not logged[0] or not counterfactual[0] or logged[0] == 1:
        return None
    return log(counterfactual[0]) / log(logged[0])


def say_everything_equal(logged: Ratio | None, counterfactual: Ratio | None) -> str:
    """Writes the sentence; "" where a ratio is not known."""
    if logged is None or counterfactual is None:
        return ""
    value, low, high = counterfactual
    stays = find_stays(logged, counterfactual)
    digits = count_digits(value, (1.0,), 2)
    end = " and more" if high is None else f"–{high:.2f}"
    ratio = f"{value:.{digits}f} ({low or 0:.2f}{end})"
    if may_be_equal(counterfactual):
        is_open = stays is not None and stays > NONE_STAYS
        unsure = ". Some may stay: more records would show it" if is_open else ""
        return f"With everything else equal no gap is certain: {ratio}{unsure}."
    how = "there is a gap"
    if stays is not None and stays < 0:
        how = "the gap turns round"
    elif stays is not None and stays <= NONE_STAYS:
        how = "hardly any of the gap stays"
    elif stays is not None and stays < ALL_STAYS:
        how = f"{100 * stays:.0f} % of the gap stays"
    elif stays is not None:
        how = "the gap stays"
    return f"With everything else equal {how}: {ratio}."
