"""Public data cut into hours, with a model that is swapped. `scripts/trial evidence-replays` runs the whole table."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn, which fits the models, is not installed")

from tests.builders.evidence_hours import follow_months
from tests.builders.replays import ADULT, OPENSCALE, Population, fit_and_score
from tests.golden import dataset


@pytest.fixture(scope="module")
def credit() -> Population:
    return fit_and_score(OPENSCALE, dataset(OPENSCALE.replayed_file).parent)


def test_a_swapped_model_is_found_with_its_hour_and_one_that_stays_inside_is_not(credit: Population) -> None:
    before, after = credit.decide(0.95), credit.decide(0.6)
    assert credit.ratio_of(before) == pytest.approx(0.95, abs=0.002)
    assert credit.ratio_of(after) == pytest.approx(0.6, abs=0.002)

    for seed in range(5):
        swapped = follow_months(credit.cut([before] * 300 + [after] * 30, seed, records=300, again=True)).episodes
        steady = follow_months(credit.cut([before] * 330, seed, records=300, again=True)).episodes
        assert steady == ()
        assert [run.alarm in range(300, 306) for run in swapped] == [True]
        assert abs(swapped[0].since.hour - 300) <= 1


def test_the_same_seed_gives_the_same_hours_and_each_row_is_used_once(credit: Population) -> None:
    decisions = [credit.decide(0.95)] * 50
    first, second = (credit.cut(decisions, 3, records=100, again=False) for _ in range(2))

    assert np.array_equal(first.monitored.favourable, second.monitored.favourable)
    assert first.monitored.records.sum() == credit.is_female.sum()
    with pytest.raises(ValueError, match="need 5100 rows, and there are 5000"):
        credit.cut([*decisions, decisions[0]], 3, records=100, again=False)


@pytest.mark.nightly
def test_adult_is_read_with_its_full_stops_and_spaces() -> None:
    adult = fit_and_score(ADULT, dataset(ADULT.replayed_file).parent)

    assert (len(adult.scores), int(adult.is_female.sum())) == (32_561, 10_771)
    # The model as fitted approves women at less than a third of the men's rate, as the labels do.
    assert 0.2 < adult.ratio_of(adult.decide_at_one_cut_off()) < 0.35
