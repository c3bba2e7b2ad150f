"""Candidates: confirmed by later hours only, under numbers that are never used again."""

import math

import numpy as np
import pytest

from app.evidence.betting import weigh_against_fairness
from app.evidence.hours import Hours
from app.scan.confirming import ALPHA, EXPIRY_HOURS, Candidate, CandidateBook, follow_candidate
from app.scan.scanning import Subgroup
from tests.builders.evidence_hours import BELOW, simulate

WOMEN = Subgroup(((0,),))


def candidate(born: int, number: int = 1) -> Candidate:
    return Candidate(number, WOMEN, BELOW, born)


def test_the_chances_of_all_numbers_sum_to_alpha() -> None:
    assert math.fsum(math.exp(-candidate(0, number).log_threshold) for number in range(1, 100_000)) == pytest.approx(ALPHA, abs=1e-5)


def test_numbers_are_never_used_again() -> None:
    book = CandidateBook()
    opened = [book.open(WOMEN, BELOW, born) for born in (100, 900, 1700)]

    assert [one.number for one in opened] == [1, 2, 3]
    assert book.candidates == opened


def test_a_subgroup_beyond_the_limit_is_confirmed_by_the_hours_after_its_birth() -> None:
    hours = simulate([0.6] * 300, seed=1)
    found = follow_candidate(candidate(200), [hours])

    assert found.confirmed is not None
    assert 200 <= found.confirmed < 220
    assert len(found.log_evidence) == found.confirmed - 200 + 1
    assert found.log_evidence[-1] >= candidate(200).log_threshold > found.log_evidence[:-1].max(initial=-math.inf)


def test_hours_before_the_birth_are_no_evidence() -> None:
    found = follow_candidate(candidate(200), [simulate([0.5] * 200 + [1.0] * 100, seed=2)])

    assert found.confirmed is None
    assert not found.is_expired
    assert found.log_evidence.max() < 1


def test_a_later_number_needs_more_evidence() -> None:
    hours = simulate([0.7] * 400, seed=3)
    first, hundredth = (follow_candidate(candidate(100, number), [hours]).confirmed for number in (1, 100))

    assert first is not None
    assert hundredth is not None
    assert first < hundredth


def test_a_candidate_expires_after_thirty_days() -> None:
    found = follow_candidate(candidate(10), [simulate([1.0] * 1000, seed=4)])

    assert found.is_expired
    assert len(found.log_evidence) == EXPIRY_HOURS


def test_strata_are_multiplied_and_one_without_records_says_nothing() -> None:
    one, other = simulate([0.6] * 200, seed=5), simulate([0.7] * 200, seed=6)
    silent = simulate([1.0] * 200, seed=7, records=0)
    together = follow_candidate(candidate(100), [one, other, silent])
    logs = np.nan_to_num(weigh_against_fairness(one, BELOW)) + np.nan_to_num(weigh_against_fairness(other, BELOW))

    assert together.log_evidence[0] == pytest.approx(math.log(np.exp(logs[100]).mean()))


@pytest.mark.nightly
def test_false_confirmations_are_as_rare_as_promised() -> None:
    """On the limit itself, where they are most frequent: 400 lives of three candidates each."""
    lives = [
        any(follow_candidate(candidate(50, number), [_life(seed, number)]).confirmed is not None for number in (1, 2, 3))
        for seed in range(400)
    ]

    assert sum(lives) <= 400 * ALPHA + 2 * math.sqrt(400 * ALPHA)


def _life(seed: int, number: int) -> Hours:
    return simulate([0.8] * 300, 10 * seed + number, records=100)
