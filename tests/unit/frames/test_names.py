import pytest

from app.base.values import quote_names
from app.library.name_suggestions import find_unknown_metrics
from app.statistics.catalogue import CATALOGUE

UNKNOWN = " is not in the catalogue of metrics"


def said(name: object) -> str:
    (problem,) = find_unknown_metrics([name])
    assert problem.field == "metrics"
    return problem.message


def test_no_key_of_the_catalogue_is_a_problem() -> None:
    assert find_unknown_metrics(list(CATALOGUE)) == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("DPPL", "Clarify's name of difference_in_positive_proportions_in_predicted_labels"),
        ("Clarify DPPL", "Clarify's name of difference_in_positive_proportions_in_predicted_labels"),
        ("equal_opportunity_difference", "AIF360's and fairlearn's name of true_positive_rate_difference"),
        ("Demographic Parity-Ratio", "fairlearn's name of disparate_impact"),
    ],
)
def test_the_name_that_another_tool_has_is_told_with_the_key(name: str, meant: str) -> None:
    assert said(name) == f"{name!r}{UNKNOWN}; it is {meant}"


@pytest.mark.thorough
def test_every_name_of_another_tool_leads_to_its_key() -> None:
    for key, row in CATALOGUE.items():
        for alias in row.aliases:
            for name in (alias, alias.partition(" ")[2]):
                assert name in CATALOGUE or key in said(name)


@pytest.mark.parametrize(
    ("name", "meant"), [("disparate_impct", "disparate_impact"), ("impact", "disparate_impact"), ("Brier", "brier_score")]
)
def test_keys_that_are_spelled_nearly_the_same_are_proposed(name: str, meant: str) -> None:
    assert f"{name!r}{UNKNOWN}; did you mean " in said(name)
    assert meant in said(name)


@pytest.mark.parametrize("name", ["flip_rat", "perfect_equalty", "acuracy_before", "lifted_rte", "disparate_impact_chang", "impact_afte"])
def test_what_needs_the_copies_of_a_check_is_not_proposed(name: str) -> None:
    _, _, proposed = said(name).partition("did you mean ")

    keys = proposed.removesuffix("?").split(" or ") if proposed else []
    assert all({"as_logged", "labelled", "training"} & set(CATALOGUE[key].data) for key in keys)


@pytest.mark.parametrize("name", ["nope", "", 7])
def test_where_nothing_is_near_the_catalogue_is_begun(name: object) -> None:
    assert said(name) == f"{str(name)!r}{UNKNOWN}, which has {quote_names(list(CATALOGUE))}"


def test_of_very_many_the_first_are_told() -> None:
    assert len(find_unknown_metrics(["nope"] * 1000)) == 10
