"""Many groups at one look: which of them to flag, with a bound on the share of false flags."""

from collections.abc import Sequence

FALSE_DISCOVERY_RATE = 0.05


def flag_groups(e_values: Sequence[float], rate: float = FALSE_DISCOVERY_RATE) -> list[int]:
    """Returns the positions of the e-values that e-BH rejects, largest first.

    At this look the expected share of false flags among all flags is at most `rate`, however the e-values depend on each other. The
    bound does not hold for the flags of several looks together. Source: Wang and Ramdas, False discovery rate control with e-values.
    """
    order = sorted(range(len(e_values)), key=lambda position: -e_values[position])
    flagged = max((rank for rank, position in enumerate(order, 1) if e_values[position] >= len(order) / (rate * rank)), default=0)
    return order[:flagged]


def say_flags(flagged: int, comparisons: int, rate: float = FALSE_DISCOVERY_RATE) -> str:
    """Returns the result of one look in words."""
    if not comparisons:
        return "No comparison has a counted hour yet, so none could be flagged."
    noun = "comparison" if comparisons == 1 else "comparisons"
    are = "is" if flagged == 1 else "are"
    return f"Of {comparisons:,} {noun} with counted hours, {flagged:,} {are} flagged, false discovery rate at most {rate:.0%}".replace(
        "%", " %"
    )
