"""Sentences under the headline of a regulator's report: the figure of the check and that of the whole period, next to each other."""

from syrupy.assertion import SnapshotAssertion

from app.reports.document import FirstPage
from app.reports.regulator.cover import add_period
from tests.builders.page_words import says

CHECK, HOURS = "In this check: 45 records of women aged 18–25.", "Over the 70 hours: 0.42–0.52 times as often."
FIRST = FirstPage(
    about="",
    verdict="unfair",
    headline="Women aged 18–25 are rated No Risk 0.33 times as often as men aged 26–75",
    cautions=(),
    notes=(),
    facts=(),
    axis="",
    groups=(),
    since=(),
    attribute="sex × age",
    group="women aged 18–25",
    windows=(CHECK, HOURS),
    categories={"women × aged 18–25": "women aged 18–25", "men × aged 26–75": "men aged 26–75"},
)
ROW = {
    "category": "women × aged 18–25",
    "applicants": 1986,
    "impact_ratio": 0.4626,
    "impact_ratio_low": 0.4349,
    "impact_ratio_high": 0.4921,
}
TABLE = {"attribute": "sex × age", "compared_with": "men × aged 26–75", "reference": None, "rows": [ROW]}


def test_the_period_is_said_between_the_check_and_the_evidence_in_the_names_of_the_page() -> None:
    said = add_period(FIRST, {"sheets": {"adverse_impact": {"tables": [TABLE]}}})

    period = (
        "Over the whole period, as logged: the rate of women aged 18–25 (1,986 records) is 0.46 times that of men aged 26–75 (0.43–0.49)."
    )
    assert said == (CHECK, period, HOURS)


def test_a_figure_next_to_a_limit_has_the_digits_that_show_its_side(snapshot: SnapshotAssertion) -> None:
    near = ROW | {"impact_ratio": 0.7981, "impact_ratio_low": 0.7, "impact_ratio_high": 0.9}
    said = add_period(FIRST, {"sheets": {"adverse_impact": {"tables": [TABLE | {"rows": [near]}]}}})

    assert says(said[1], "0.798", "men", "26–75", "0.700–0.900")
    assert said[1] == snapshot


def test_without_the_group_in_a_table_nothing_is_added() -> None:
    assert add_period(FIRST, {"sheets": {"adverse_impact": {"tables": [TABLE | {"attribute": "sex"}]}}}) == (CHECK, HOURS)
    assert add_period(FIRST, {"sheets": {}}) == (CHECK, HOURS)
