from dataclasses import replace
from random import Random

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from app.domain.deployment import FieldKind
from app.mitigation.detector.bias_detector import (
    MAX_CATEGORIES,
    MAX_NUMBER,
    MIN_RECALL,
    NO_CATEGORY,
    Encoding,
    find_threshold,
    measure_quality,
    predict,
)
from app.mitigation.detector.detector_versions import MAX_RECORDS, MIN_RECORDS, train
from app.statistics.intervals.intervals import build_wilson_interval
from tests.builders.extras import NEEDS_DETECTOR
from tests.builders.page_words import says
from tests.builders.refused_women import COLUMNS, Refused, refused

pytestmark = NEEDS_DETECTOR


def test_bias_in_a_band_of_scores_is_found_on_records_never_seen() -> None:
    detector = refused(1500).detector()
    others = refused(500, seed=2)

    likely = detector.score(others.rows, others.own_scores) >= detector.threshold

    biased = np.array(others.biased)
    assert likely[biased].mean() > 0.9
    assert likely[~biased].mean() < 0.05


@pytest.mark.nightly
def test_without_scores_it_is_found_by_the_features() -> None:
    detector = refused(1500).without_scores().detector()
    others = refused(500, seed=2).without_scores()

    likely = detector.score(others.rows, others.own_scores) >= detector.threshold

    biased = np.array(others.biased)
    assert likely[biased].mean() > 0.8
    assert likely[~biased].mean() < 0.2


@pytest.mark.nightly
def test_a_detector_that_cannot_know_anything_says_so() -> None:
    women = refused(2000).without_scores()
    shuffled = list(women.biased)
    Random(3).shuffle(shuffled)

    area = replace(women, biased=shuffled).detector().quality.roc_auc

    assert area.lower is not None
    assert area.upper is not None
    assert area.lower < 0.5 < area.upper


@pytest.mark.nightly
def test_the_same_records_give_the_same_scores_whatever_their_order() -> None:
    women = refused(600)
    order = list(range(600))
    Random(4).shuffle(order)
    mixed = Refused(*([part[place] for place in order] for part in (women.ids, women.rows, women.own_scores, women.biased)))

    one, again, other = women.detector(), women.detector(), mixed.detector()

    expected = one.score(women.rows, women.own_scores).tolist()
    assert again.score(women.rows, women.own_scores).tolist() == expected
    assert other.score(women.rows, women.own_scores).tolist() == expected
    assert one.threshold == again.threshold == other.threshold
    assert one.quality == again.quality == other.quality


def test_quality_is_of_records_that_were_not_learnt_from() -> None:
    women = refused(600)
    detector = women.detector()
    renamed = replace(women, ids=[f"other-{record_id}" for record_id in women.ids]).detector()

    counts = detector.counts
    assert (counts.records, counts.used, counts.biased) == (600, 600, sum(women.biased))
    assert 0 < counts.held_out_biased < counts.held_out
    assert 120 < counts.held_out < 240
    assert detector.quality.roc_auc.n == detector.quality.selected.n == counts.held_out
    assert detector.quality.recall.n == counts.held_out_biased
    assert renamed.counts.held_out != counts.held_out or renamed.threshold != detector.threshold


@pytest.mark.nightly
def test_a_record_is_held_out_by_its_id_whatever_else_is_there() -> None:
    women = refused(400)
    first, second = slice(0, 200), slice(200, 400)

    parts = [
        train(COLUMNS, women.rows[part], own_scores=women.own_scores[part], biased=women.biased[part], ids=women.ids[part])
        for part in (first, second)
    ]

    assert sum(part.counts.held_out for part in parts) == women.trained().counts.held_out


@pytest.mark.parametrize(
    ("kept_biased", "kept_others", "of"), [(49, 300, "are biased"), (300, 49, "are not biased"), (0, 300, "0 of the 300")]
)
def test_too_few_of_either_kind_are_refused_in_words(kept_biased: int, kept_others: int, of: str) -> None:
    women = refused(2500)
    places = [place for place, is_biased in enumerate(women.biased) if is_biased][:kept_biased]
    places += [place for place, is_biased in enumerate(women.biased) if not is_biased][:kept_others]
    few = Refused(*([part[place] for place in places] for part in (women.ids, women.rows, women.own_scores, women.biased)))

    refusal = few.refusal()

    assert of in refusal.reason
    assert f"at least {MIN_RECORDS} are needed" in refusal.reason
    assert refusal.counts.records == kept_biased + kept_others
    assert refusal.counts.biased == kept_biased


def test_too_few_held_out_are_refused_though_there_are_enough_in_all(snapshot: SnapshotAssertion) -> None:
    women = refused(2000)
    # Ids of one kind only: all of the biased records fall on the side that is learned from.
    learned = [record_id for record_id in (f"id-{no}" for no in range(8000)) if _is_learnt_from(record_id)]
    spare = iter(learned)
    ids = [next(spare) if is_biased else f"other-{no}" for no, is_biased in enumerate(women.biased)]

    refusal = replace(women, ids=ids).refusal()

    assert says(refusal.reason, "10")
    assert refusal.reason == snapshot
    assert refusal.counts.held_out_biased == 0


def _is_learnt_from(record_id: str) -> bool:
    found = train(COLUMNS, [(1, "own", True)], own_scores=[None], biased=[True], ids=[record_id])
    return found.counts.held_out == 0


def test_no_record_at_all_is_refused(snapshot: SnapshotAssertion) -> None:
    refusal = Refused([], [], [], []).refusal()

    assert says(refusal.reason, "0", "0", "50")
    assert refusal.reason == snapshot


@pytest.mark.nightly
def test_only_the_newest_records_are_used() -> None:
    women = refused(300)
    times = MAX_RECORDS // 300 + 1
    old = 7
    rows = [(None, None, None)] * old + women.rows * times
    ids = [f"{no}" for no in range(len(rows))]
    scores, biased = [None] * old + women.own_scores * times, [True] * old + women.biased * times

    found = train(COLUMNS[:1], [row[:1] for row in rows], own_scores=scores, biased=biased, ids=ids)

    assert found.counts.records == len(rows)
    assert found.counts.used == MAX_RECORDS
    assert found.counts.used_biased == sum(biased[-MAX_RECORDS:])


def test_missing_unknown_and_odd_cells_have_scores() -> None:
    detector = refused(400).detector()
    rows = [(None, None, None), ("many", "castle", "maybe"), (1e308, "own", 1), (10**400, "", 0.5), (float("nan"), "ü", False)]

    scores = detector.score(rows, [None, float("nan"), float("inf"), 2.0, -1.0])

    assert np.isfinite(scores).all()
    assert ((scores >= 0) & (scores <= 1)).all()


@pytest.mark.nightly
def test_a_column_without_any_value_and_one_of_one_value_do_no_harm() -> None:
    women = refused(400)
    columns = (*COLUMNS, replace(COLUMNS[0], name="Empty"), replace(COLUMNS[1], name="Void"), replace(COLUMNS[1], name="Same"))
    rows = [(*row, None, None, "same" if place % 2 else None) for place, row in enumerate(women.rows)]

    wider = train(columns, rows, own_scores=women.own_scores, biased=women.biased, ids=women.ids)

    assert wider.counts == women.detector().counts
    assert wider.quality.roc_auc.value == pytest.approx(women.detector().quality.roc_auc.value, abs=0.02)


def test_one_category_beside_missing_cells_is_told_apart_from_them() -> None:
    women = refused(600).without_scores()
    rows = [("yes" if is_biased else None,) for is_biased in women.biased]

    detector = train((COLUMNS[1],), rows, own_scores=women.own_scores, biased=women.biased, ids=women.ids)

    assert (detector.quality.roc_auc.value, detector.quality.precision.value, detector.quality.recall.value) == (1, 1, 1)
    assert (detector.score([("yes",), (None,), ("no",)], [None] * 3) >= detector.threshold).tolist() == [True, False, False]


def test_no_record_has_no_score() -> None:
    assert refused(400).detector().score([], []).tolist() == []


def test_a_row_of_another_width_is_an_error() -> None:
    detector = refused(400).detector()

    with pytest.raises(ValueError, match="zip"):
        detector.score([(1, "own")], [None])
    with pytest.raises(ValueError, match="zip"):
        detector.score([(1, "own", True)], [])


def test_the_most_frequent_values_have_numbers_and_the_rest_have_none() -> None:
    values = [f"value-{no:04}" for no in range(MAX_CATEGORIES + 20)]
    rows = [(value,) for value in values] + [(values[-1],)]

    encoding = Encoding.fit((COLUMNS[1],), rows)

    assert encoding.encode([(values[-1],), (values[0],)], [None, 0.5])[:, 0].tolist() == [NO_CATEGORY + 1, NO_CATEGORY + 2]
    assert encoding.encode([(values[-2],), (None,)], [None, None])[:, 0].tolist() == [NO_CATEGORY, NO_CATEGORY]


def test_values_are_alike_where_they_are_written_alike_and_quantities_stay_finite() -> None:
    numeric = replace(COLUMNS[1], kind=FieldKind.NUMERIC)

    encoding = Encoding.fit((COLUMNS[1], numeric), [(1, 0), (True, 0)])

    numbers = encoding.encode([(1.0, "1e308"), ("1", True), (True, -(10**301)), ("true", " 7 ")], [None, 0.25, 1, 0])
    assert numbers[:, 0].tolist() == [1, 1, 2, 2]
    assert numbers[:, 1].tolist() == [MAX_NUMBER, 1, -MAX_NUMBER, 7]
    assert numbers[1:, 2].tolist() == [0.25, 1, 0]
    assert np.isnan(numbers[0, 2])


def test_the_threshold_is_where_a_missed_record_weighs_as_much_as_four_needless_calls() -> None:
    # From above: 18 biased, 3 others, a biased one, 6 others, a biased one, an other.
    biased = np.array([True] * 18 + [False] * 3 + [True] + [False] * 6 + [True] + [False])
    scores = 1 - np.arange(len(biased)) / 100

    threshold = find_threshold(scores, biased)

    # F2 at 18, 19 and 20 of the 20: 90/(90+8+0), 95/(95+4+3) and 100/(100+0+9).
    assert max(90 / 98, 95 / 102, 100 / 109) == 95 / 102
    assert (scores >= threshold).sum() == 22
    assert threshold == pytest.approx(1 - 0.215)


def test_nine_tenths_of_the_biased_records_are_reached_however_many_others_are_picked() -> None:
    biased = np.array([True] * 8 + [False] * 100_000 + [True] * 2)
    scores = np.linspace(1, 0, len(biased))

    threshold = find_threshold(scores, biased)

    assert (scores[biased] >= threshold).mean() >= MIN_RECALL


def test_what_is_apart_is_told_apart_midway() -> None:
    scores = np.array([0.9, 0.8, 0.2, 0.1])

    assert find_threshold(scores, scores > 0.5) == pytest.approx(0.5)


def test_where_all_scores_are_alike_every_record_is_above_the_threshold() -> None:
    scores = np.full(10, 0.3)

    assert find_threshold(scores, np.arange(10) < 3) == pytest.approx(0.15)


def test_quality_by_hand() -> None:
    scores = np.array([0.9, 0.8, 0.7, 0.2, 0.1])
    biased = np.array([True, False, True, True, False])

    quality = measure_quality(scores, biased, 0.7)

    # Pairs (biased, other) in order: 0.9 beats both, 0.7 and 0.2 beat one each.
    assert quality.roc_auc.value == pytest.approx(4 / 6)
    assert (quality.precision.value, quality.precision.n) == (2 / 3, 3)
    assert (quality.recall.value, quality.recall.n) == (2 / 3, 3)
    assert (quality.selected.value, quality.selected.n) == (3 / 5, 5)
    assert (quality.precision.lower, quality.precision.upper, quality.precision.method) == build_wilson_interval(2, 3)
    assert 0 <= quality.roc_auc.lower <= 4 / 6 <= quality.roc_auc.upper <= 1


def test_precision_is_absent_with_its_reason_where_nothing_is_selected(snapshot: SnapshotAssertion) -> None:
    quality = measure_quality(np.array([0.1, 0.2]), np.array([True, False]), 0.7)

    assert quality.precision.value is None
    assert quality.precision.reason == snapshot
    assert (quality.recall.value, quality.selected.value) == (0, 0)


def test_the_scores_are_the_classifiers() -> None:
    women = refused(400)
    detector = women.detector()

    numbers = detector.encoding.encode(women.rows, women.own_scores)

    assert detector.score(women.rows, women.own_scores).tolist() == predict(detector.classifier, numbers).tolist()
