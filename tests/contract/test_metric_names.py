"""Every metric of AIF360, Clarify and OpenScale has a key here, and the page that says which is equal to the catalogue."""

import pytest

from app.statistics.catalogue import CATALOGUE
from tests.contract.metric_names import TOOLS, entries

AIF360 = """
accuracy average_abs_odds_difference average_odds_difference average_predictive_value_difference base_rate
between_all_groups_coefficient_of_variation between_all_groups_generalized_entropy_index between_all_groups_theil_index
between_group_coefficient_of_variation between_group_generalized_entropy_index between_group_theil_index binary_confusion_matrix
coefficient_of_variation consistency difference differential_fairness_bias_amplification disparate_impact equal_opportunity_difference
equalized_odds_difference error_rate error_rate_difference error_rate_ratio false_discovery_rate false_discovery_rate_difference
false_discovery_rate_ratio false_negative_rate false_negative_rate_difference false_negative_rate_ratio false_omission_rate
false_omission_rate_difference false_omission_rate_ratio false_positive_rate false_positive_rate_difference false_positive_rate_ratio
generalized_binary_confusion_matrix generalized_entropy_index generalized_equalized_odds_difference generalized_false_negative_rate
generalized_false_positive_rate generalized_true_negative_rate generalized_true_positive_rate mean_difference negative_predictive_value
num_false_negatives num_false_positives num_generalized_false_negatives num_generalized_false_positives num_generalized_true_negatives
num_generalized_true_positives num_instances num_negatives num_positives num_pred_negatives num_pred_positives num_true_negatives
num_true_positives performance_measures positive_predictive_value power precision ratio recall rich_subgroup selection_rate sensitivity
smoothed_empirical_differential_fairness specificity statistical_parity_difference theil_index true_negative_rate true_positive_rate
true_positive_rate_difference
""".split()  # noqa: SIM905 - the public methods of ClassificationMetric in aif360 0.6.1, as `dir` lists them
CLARIFY = "CI DPL KL JS LP TVD KS CDDL DPPL DI DCA DCR RD SD DAR DRR AD CDDPL TE FT GE".split()  # noqa: SIM905 - as its reports order them
OPENSCALE = (
    "fairness_value",
    "statistical_parity_difference",
    "average_odds_difference",
    "average_abs_odds_difference",
    "false_negative_rate_difference",
    "false_positive_rate_difference",
    "false_discovery_rate_difference",
    "false_omission_rate_difference",
    "error_rate_difference",
    "area_under_pr",
)
NO_METRIC = {"difference", "ratio"}
"""AIF360's helpers that compare any rate of two groups."""

SEVERAL = {"binary_confusion_matrix", "generalized_binary_confusion_matrix", "performance_measures"}
"""AIF360's methods that give other methods' figures at once."""


@pytest.mark.parametrize(("tool", "names", "many"), [("AIF360", AIF360, 72), ("Clarify", CLARIFY, 21), ("OpenScale", OPENSCALE, 10)])
def test_every_name_is_on_the_page(tool: str, names: list[str], many: int) -> None:
    assert len(set(names)) == many
    assert set(entries(tool)) == set(names)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_page_names_keys_that_exist_and_that_know_the_other_name(tool: str) -> None:
    unknown = []
    for name, entry in entries(tool).items():
        if tool == "AIF360" and name in NO_METRIC:
            continue
        for key in entry.keys:
            aliases = CATALOGUE[key].aliases if key in CATALOGUE else ()
            if key not in CATALOGUE or (name not in SEVERAL and not any(alias.startswith(f"{tool} {name}") for alias in aliases)):
                unknown.append((name, key, aliases))

    assert unknown == []


def test_the_helpers_that_compare_any_rate_are_orders_of_the_catalogue() -> None:
    written = {name: " ".join(entries("AIF360")[name].keys) for name in NO_METRIC}
    orders = {metric.order for metric in CATALOGUE.values()}

    assert written == {"difference": "every key of order monitored - reference", "ratio": "every key of order monitored / reference"}
    assert {"monitored - reference", "monitored / reference"} <= orders


@pytest.mark.parametrize("tool", ["AIF360", "OpenScale", "fairlearn"])
def test_every_alias_of_the_catalogue_is_on_the_page(tool: str) -> None:
    on_page = {(name, key) for name, entry in entries(tool).items() for key in entry.keys}
    aliases = {(alias.split()[1], key) for key, metric in CATALOGUE.items() for alias in metric.aliases if alias.startswith(f"{tool} ")}

    assert aliases - on_page - {("perfect_equality", "perfect_equality")} == set()
