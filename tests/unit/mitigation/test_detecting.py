from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from app.base.values import Scalar
from app.deployments.mitigation_queries import ALL_TOGETHER, DetectorVersion, NewDetector
from app.mitigation.detector.bias_detector import BiasDetector, DetectorChooser, score_bias
from app.mitigation.detector.detector_versions import DetectorEvidence, pool_evidence, train_detectors
from tests.builders.extras import NEEDS_DETECTOR
from tests.builders.refused_women import COLUMNS, Refused, refused

pytestmark = NEEDS_DETECTOR

NOW = datetime(2026, 3, 2, tzinfo=UTC)


def evidence(women: Refused, attribute: str = "Sex") -> DetectorEvidence:
    return DetectorEvidence(attribute, women.ids, women.rows, women.own_scores, women.biased)


def stored(new: Sequence[NewDetector]) -> Mapping[str, DetectorVersion]:
    """What was to be stored, as it is known afterwards."""
    common = {"version": 1, "basis": "b", "check_id": "c", "trained_at": datetime(2026, 3, 1, tzinfo=UTC)}
    return {
        detector.attribute: DetectorVersion(
            **common,
            attribute=detector.attribute,
            counts=detector.counts,
            made_by=detector.made_by,
            threshold=detector.threshold,
            quality=detector.quality,
            reason=detector.reason,
        )
        for detector in new
    }


def part(women: Refused, count: int) -> Refused:
    return Refused(women.ids[:count], women.rows[:count], women.own_scores[:count], women.biased[:count])


def with_biased(women: Refused, biased: int, others: int) -> Refused:
    places = [place for place, is_biased in enumerate(women.biased) if is_biased][:biased]
    places += [place for place, is_biased in enumerate(women.biased) if not is_biased][:others]
    return Refused(*([part[place] for place in places] for part in (women.ids, women.rows, women.own_scores, women.biased)))


class Always:
    """A detector that gives each record its first cell."""

    threshold = 0.5

    def score(self, rows: Sequence[Sequence[Scalar | None]], _own: Sequence[float | None]) -> np.ndarray:
        return np.array([row[0] for row in rows], dtype=np.float64)


@pytest.mark.nightly
def test_a_week_later_a_detector_is_trained_again_on_as_many_records() -> None:
    women = refused(800)
    known = stored(train_detectors(COLUMNS, [evidence(women)], {}, now=NOW))

    a_week_later = datetime(2026, 3, 8, tzinfo=UTC)

    assert train_detectors(COLUMNS, [evidence(women)], known, now=a_week_later - timedelta(seconds=1)) == []
    assert len(train_detectors(COLUMNS, [evidence(women)], known, now=a_week_later)) == 2


@pytest.mark.nightly
def test_the_first_time_each_attribute_and_all_together_are_trained() -> None:
    women = refused(800)

    new = train_detectors(COLUMNS, [evidence(part(women, 600)), evidence(women, "Age")], {}, now=NOW)

    assert [detector.attribute for detector in new] == ["Sex", "Age", ALL_TOGETHER]
    assert [detector.counts.records for detector in new] == [600, 800, 800]
    for detector in new:
        assert detector.model is not None
        assert detector.quality == BiasDetector.from_bytes(detector.model).quality
        assert detector.threshold == BiasDetector.from_bytes(detector.model).threshold
        assert detector.reason is None


def test_of_one_attribute_all_together_are_the_same() -> None:
    new = train_detectors(COLUMNS, [evidence(refused(400))], {}, now=NOW)

    assert [detector.attribute for detector in new] == ["Sex", ALL_TOGETHER]
    assert replace(new[1], attribute="Sex") == new[0]


def test_nothing_is_trained_without_evidence() -> None:
    assert train_detectors(COLUMNS, [], {}, now=NOW) == []


@pytest.mark.thorough
def test_a_detector_is_kept_until_the_biased_records_known_grew_by_a_fifth() -> None:
    women = refused(2500)
    known = stored(train_detectors(COLUMNS, [evidence(with_biased(women, 100, 200))], {}, now=NOW))

    same = train_detectors(COLUMNS, [evidence(with_biased(women, 100, 200))], known, now=NOW)
    fewer = train_detectors(COLUMNS, [evidence(with_biased(women, 60, 200))], known, now=NOW)
    nearly = train_detectors(COLUMNS, [evidence(with_biased(women, 119, 500))], known, now=NOW)
    grown = train_detectors(COLUMNS, [evidence(with_biased(women, 120, 200))], known, now=NOW)

    assert (same, fewer, nearly) == ([], [], [])
    assert [detector.counts.biased for detector in grown] == [120, 120]


@pytest.mark.nightly
def test_a_detector_of_another_version_of_the_library_is_trained_anew() -> None:
    women = refused(400)
    known = stored(train_detectors(COLUMNS, [evidence(women)], {}, now=NOW))
    old = {attribute: replace(version, made_by="scikit-learn 0.1") for attribute, version in known.items()}

    assert [detector.attribute for detector in train_detectors(COLUMNS, [evidence(women)], old, now=NOW)] == ["Sex", ALL_TOGETHER]


def test_a_refusal_is_stored_once_until_the_records_known_change_by_a_fifth() -> None:
    women = refused(2500)
    first = train_detectors(COLUMNS, [evidence(with_biased(women, 20, 100))], {}, now=NOW)
    known = stored(first)

    assert all(detector.reason is not None and detector.model is None and detector.quality is None for detector in first)
    assert train_detectors(COLUMNS, [evidence(with_biased(women, 20, 100))], known, now=NOW) == []
    assert train_detectors(COLUMNS, [evidence(with_biased(women, 23, 119))], known, now=NOW) == []
    assert len(train_detectors(COLUMNS, [evidence(with_biased(women, 24, 100))], known, now=NOW)) == 2
    assert len(train_detectors(COLUMNS, [evidence(with_biased(women, 20, 80))], known, now=NOW)) == 2


def test_after_a_refusal_it_is_trained_as_soon_as_it_can_be() -> None:
    women = refused(2500)
    known = stored(train_detectors(COLUMNS, [evidence(with_biased(women, 49, 300))], {}, now=NOW))

    new = train_detectors(COLUMNS, [evidence(with_biased(women, 50, 300))], known, now=NOW)

    assert known["Sex"].reason is not None
    assert [detector.reason for detector in new] == [None, None]


@pytest.mark.thorough
def test_an_attribute_without_any_record_is_refused_and_the_others_are_trained() -> None:
    new = train_detectors(COLUMNS, [evidence(refused(400)), evidence(Refused([], [], [], []), "Age")], {}, now=NOW)

    assert {detector.attribute: detector.reason is None for detector in new} == {"Sex": True, "Age": False, ALL_TOGETHER: True}


def test_together_each_record_counts_once_and_is_biased_if_it_is_for_any_attribute() -> None:
    sex = DetectorEvidence("Sex", ["a", "b", "c"], [(1,), (2,), (3,)], [0.1, 0.2, None], [False, True, False])
    age = DetectorEvidence("Age", ["b", "c", "d"], [(2,), (3,), (4,)], [0.2, None, 0.4], [False, True, False])

    together = pool_evidence([sex, age])

    assert dict(zip(together.record_ids, together.biased, strict=True)) == {"a": False, "b": True, "c": True, "d": False}
    assert dict(zip(together.record_ids, together.rows, strict=True)) == {"a": (1,), "b": (2,), "c": (3,), "d": (4,)}
    assert dict(zip(together.record_ids, together.own_scores, strict=True)) == {"a": 0.1, "b": 0.2, "c": None, "d": 0.4}
    assert together.record_ids[0] == "a"
    assert together.attribute == ALL_TOGETHER


def test_a_record_is_chosen_if_any_of_its_attributes_says_so() -> None:
    low, high = Always(), Always()
    high.threshold = 0.9
    chooser = DetectorChooser({"Sex": low, "Age": high})  # type: ignore[dict-item]

    rows = [(0.7,), (0.7,), (0.7,), (0.95,), (0.1,), (0.99,)]
    attributes = [("Sex",), ("Age",), ("Sex", "Age"), ("Age",), ("Sex", "Age"), ()]

    assert chooser.choose(rows, [None] * 6, attributes) == [True, False, True, True, False, False]


def test_an_attribute_without_a_detector_is_answered_by_the_one_of_all_together() -> None:
    together = Always()
    together.threshold = 0.9
    chooser = DetectorChooser({"Sex": Always(), ALL_TOGETHER: together})  # type: ignore[dict-item]

    assert chooser.choose([(0.7,), (0.7,), (0.95,)], [None] * 3, [("Sex",), ("Age", "Region"), ("Age",)]) == [True, False, True]


def test_without_any_detector_every_monitored_record_is_chosen() -> None:
    assert DetectorChooser({}).choose([(1,), (2,)], [None, None], [("Sex",), ()]) == [True, False]
    assert DetectorChooser({"Sex": Always()}).choose([(0.1,), (0.1,)], [None, None], [("Age",), ("Sex", "Age")]) == [True, True]  # type: ignore[dict-item]
    assert DetectorChooser({}).choose([], [], []) == []


def test_an_attribute_named_twice_is_asked_once() -> None:
    assert DetectorChooser({"Sex": Always()}).choose([(0.7,)], [None], [("Sex", "Sex")]) == [True]  # type: ignore[dict-item]


def test_what_is_asked_has_to_fit() -> None:
    with pytest.raises(ValueError, match="zip"):
        DetectorChooser({}).choose([(1,)], [], [()])


def test_records_are_marked_by_the_detector_of_the_attribute_or_by_the_one_of_all_together() -> None:
    women, others = refused(800), refused(100, seed=2)
    detector = women.detector()

    by_attribute = score_bias({"Sex": detector}, "Sex", others.rows, others.own_scores)
    by_all = score_bias({ALL_TOGETHER: detector}, "Sex", others.rows, others.own_scores)

    assert by_attribute is not None
    assert by_all is not None
    assert by_attribute.scores.tolist() == by_all.scores.tolist() == detector.score(others.rows, others.own_scores).tolist()
    assert by_attribute.is_likely.tolist() == (by_attribute.scores >= detector.threshold).tolist()
    assert score_bias({"Age": detector}, "Sex", others.rows, others.own_scores) is None
