"""The odds ratio as a metric: next to statsmodels, its interval on simulated worlds, and where it does not exist."""

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import Table2x2

from app.statistics.group_labels import build_groups
from app.statistics.measures.measure import measure_as_logged
from app.statistics.tables.count_table import GroupCounts
from tests.builders.count_tables import count_groups
from tests.builders.results import reason, value

SEXES = build_groups([("female", "monitored"), ("male", "reference")])


def table(*counts: tuple[int, int]) -> GroupCounts:
    """A table from (unfavourable, favourable) per group."""
    return count_groups(SEXES, counts)


@pytest.mark.nightly
def test_a_thousand_random_tables_have_the_odds_ratio_of_statsmodels() -> None:
    rng = np.random.default_rng(5)
    for _ in range(1_000):
        (a, b), (c, d) = counts = rng.integers(0, int(rng.choice([3, 30, 2000])), (2, 2)).tolist()
        results = measure_as_logged(table(*map(tuple, counts)), metrics=["odds_ratio"], draws=20)
        if not a + b or not c + d:
            assert "no record" in reason(results, "odds_ratio", "group", "female")
        elif not a or not d:
            assert "no finite value" in reason(results, "odds_ratio", "group", "female")
        else:
            found = value(results, "odds_ratio", "group", "female").value
            # With the favourable outcome first, as statsmodels has the exposed.
            assert found == pytest.approx(Table2x2([[b, a], [d, c]], shift_zeros=False).oddsratio, rel=1e-9)


def test_berkeley_has_the_odds_ratio_of_its_text_book() -> None:
    # 1198 of 2691 men and 557 of 1835 women were admitted in 1973: (557 / 1278) / (1198 / 1493), Bickel et al. 1975.
    found = value(measure_as_logged(table((1278, 557), (1493, 1198)), metrics=["odds_ratio"]), "odds_ratio", "group", "female")
    low, high = Table2x2([[557, 1278], [1198, 1493]]).oddsratio_confint()
    assert found.value == pytest.approx(0.5432, abs=5e-4)
    assert (found.lower, found.upper) == pytest.approx((low, high), rel=0.01)


@pytest.mark.thorough
@pytest.mark.parametrize(("rates", "people"), [((0.3, 0.5), (60, 90)), ((0.05, 0.1), (150, 200)), ((0.9, 0.8), (40, 400))])
def test_the_interval_holds_the_truth_in_19_of_20_worlds(rates: tuple[float, float], people: tuple[int, int]) -> None:
    rng = np.random.default_rng(6)
    truth = rates[0] / (1 - rates[0]) / (rates[1] / (1 - rates[1]))
    inside = 0
    for world in range(300):
        chosen = [int(rng.binomial(size, rate)) for size, rate in zip(people, rates, strict=True)]
        counts = [(size - one, one) for size, one in zip(people, chosen, strict=True)]
        (found,) = [
            figure for figure in measure_as_logged(table(*counts), metrics=["odds_ratio"], draws=500, seed=world) if figure.scope == "group"
        ]
        lower, upper = getattr(found.number, "lower", 0) or 0, getattr(found.number, "upper", None)
        inside += lower <= truth and (upper is None or truth <= upper)
    assert 273 <= inside <= 299
