"""Tests of the choice of the figure furthest out."""

from hypothesis import given
from hypothesis import strategies as st

from app.overview.judge import FURTHEST, Distances
from app.overview.queries import RankedFigure
from app.statistics.catalogue import CATALOGUE
from app.statistics.measures.worst_group import how_far_out

VALUES = st.none() | st.floats(0, 20) | st.sampled_from((0.0, 0.5, 0.8, 1.0, 1.25, 2.0))
LIMITS = st.sampled_from(((0.8, None), (0.8, 1.25), (None, 1.25), (None, None), (0.5, None)))


@given(
    listed=st.lists(st.tuples(VALUES, LIMITS), min_size=1, max_size=8),
    metric=st.sampled_from(("disparate_impact", "statistical_parity_difference")),
)
def test_the_figure_furthest_out_is_the_one_of_the_greatest_distance_and_the_first_of_equals(
    listed: list[tuple[float | None, tuple[float | None, float | None]]], metric: str
) -> None:
    figures = [
        RankedFigure(no=no, check_no=1, data="as_logged", value=value, verdict="unfair", lower_limit=limits[0], upper_limit=limits[1])
        for no, (value, limits) in enumerate(listed)
    ]

    def measure(value: float | None, limits: tuple[float | None, float | None]) -> float:
        return 0.0 if value is None else min(how_far_out(value, CATALOGUE[metric], limits), FURTHEST)

    distances = [measure(value, limits) for value, limits in listed]

    assert Distances().furthest(metric, figures).no == distances.index(max(distances))
