"""Places of a forest on its axis."""

from app.domain.check import DataSet
from app.pages.deployment.forest_rows import draw_forest, list_strip_runs
from tests.builders.forests import checks_of, figure_of, forest_of


def test_equality_is_in_the_middle_and_the_band_lies_around_it() -> None:
    (line,) = draw_forest(forest_of(figure_of(1.0, "fair", lower=0.5, upper=2.0))).lines
    (mark,) = line.marks

    assert mark.at == 50.0
    assert 0 < mark.low < 50 < mark.high < 100
    assert line.band_low < 50 < line.band_high
    assert round(line.band_low + line.band_high) == 100


def test_a_lone_limit_ends_the_band_on_both_sides() -> None:
    (line,) = draw_forest(forest_of(figure_of(1.0, "fair", lower=0.5, upper=2.0, upper_limit=None))).lines

    # Beyond the mirror image the verdict is that the other side is not watched, which is not fair.
    assert round(line.band_low + line.band_high) == 100


def test_figures_and_ends_beyond_the_axis_are_clipped() -> None:
    low, high, open_end = (
        draw_forest(forest_of(figure_of(*one, lower=lower, upper=upper))).lines[0].marks[0]
        for one, lower, upper in (((0.0, "unfair"), 0.0, 0.3), ((90.0, "unfair"), 3.0, 200.0), ((2.0, "unfair"), 1.5, None))
    )

    assert (low.clipped, low.at, low.low_clipped) == ("left", 0.0, True)
    assert (high.clipped, high.at, high.high_clipped) == ("right", 100.0, True)
    assert (open_end.clipped, open_end.high, open_end.high_clipped) == ("", 100.0, True)
    assert [low.text, high.text, open_end.text] == ["0.00", "90.00", ""]


def test_the_number_of_a_clipped_figure_begins_after_its_interval() -> None:
    within, over, right = (
        draw_forest(forest_of(figure_of(value, "unfair", lower=lower, upper=upper))).lines[0].marks[0]
        for value, lower, upper in ((0.01, 0.001, 0.34), (0.01, 0.001, 1.2), (90.0, 3.0, 200.0))
    )

    assert within.at == 0.0
    assert within.text_at == within.high > 0
    # No room is left after it.
    assert over.text_at == over.at == 0.0
    assert right.text_at == right.low < 100


def test_the_counterfactual_figure_has_another_shape_and_place() -> None:
    logged, other = draw_forest(forest_of(figure_of(), figure_of(0.5, data=DataSet.COUNTERFACTUAL))).lines[0].marks

    assert (logged.is_hollow, other.is_hollow) == (False, True)
    assert logged.y < other.y


def test_a_row_without_a_number_has_no_mark() -> None:
    (line,) = draw_forest(forest_of(figure_of(None, "not_computable", lower=None, upper=None))).lines

    assert line.marks == ()


def test_differences_lie_on_a_linear_axis_that_holds_them_all() -> None:
    one = figure_of(-0.4, metric="statistical_parity_difference", lower=-0.5, upper=-0.3, lower_limit=-0.1, upper_limit=0.1)
    picture = draw_forest(forest_of(one, metric="statistical_parity_difference"))
    (mark,) = picture.lines[0].marks

    assert mark.clipped == ""
    assert 0 < mark.low < mark.at < mark.high < 50


def test_equal_verdicts_are_one_run_and_the_newest_is_at_the_right_end() -> None:
    (row,) = forest_of(figure_of(), checks=checks_of(72)).rows
    (whole,) = list_strip_runs(row.strip, 72)
    (single,) = list_strip_runs(forest_of(figure_of()).rows[0].strip, 1)

    assert (whole.at, whole.width) == (0.0, 100.0)
    assert round(single.at + single.width) == 100
    assert single.width < 5
