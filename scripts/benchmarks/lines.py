"""Lines of figures with their limits, as every benchmark prints them and `scripts/bench all` collects them."""

from collections.abc import Sequence
from dataclasses import dataclass

MARK = "LIMIT "


@dataclass(frozen=True, slots=True)
class Line:
    """A figure that was measured, a ratio unless its name says otherwise, and its limit: the least that is right, or the most."""

    name: str
    figure: float
    limit: float
    is_most: bool = False

    @property
    def is_ok(self) -> bool:
        return self.figure <= self.limit if self.is_most else self.figure >= self.limit

    def __str__(self) -> str:
        bound = f"{'at most' if self.is_most else 'at least'} {self.limit:g}"
        return f"{self.name:64}{self.figure:10.3g}  {bound:18}{'ok' if self.is_ok else 'falls short'}"


def show_lines(lines: Sequence[Line]) -> bool:
    """Prints the lines; returns whether all figures keep their limits."""
    for line in lines:
        print(f"{MARK}{line}")
    return all(line.is_ok for line in lines)
