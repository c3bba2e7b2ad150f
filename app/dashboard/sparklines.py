"""Small line of a series in a table: the places of its points, in the units of a box of 100 by 30."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT, MARGIN = 100.0, 30.0, 2.0


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Stretches of a line as SVG has them (`x,y x,y …`), a dot where a stretch is one point only, and the height of each limit."""

    stretches: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]
    limits: tuple[float, ...]
    words: str


def sparkline(values: Sequence[float | None], *, limits: tuple[float | None, float | None]) -> Sparkline | None:
    """Returns the line of the values, oldest first; it is broken where one is absent. None without any value."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    drawn = [limit for limit in limits if limit is not None]
    low, high = min(*known, *drawn, known[0]), max(*known, *drawn, known[0])
    step = WIDTH / max(1, len(values) - 1)

    def height(value: float) -> float:
        share = 0.5 if high == low else (value - low) / (high - low)
        return round(HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN), 2)

    stretches: list[list[tuple[float, float]]] = [[]]
    for no, value in enumerate(values):
        if value is None:
            stretches.append([])
        else:
            stretches[-1].append((round(no * step, 2), height(value)))
    return Sparkline(
        stretches=tuple(" ".join(f"{x:g},{y:g}" for x, y in one) for one in stretches if len(one) > 1),
        dots=tuple(one[0] for one in stretches if len(one) == 1),
        limits=tuple(height(limit) for limit in drawn),
        words=f"The last {len(known)} values went from {known[0]:.2f} to {known[-1]:.2f}, between {min(known):.2f} and {max(known):.2f}.",
    )
