"""Golden values of evidence over time, read in place."""

import json
import math
from typing import Any

import numpy as np
import pytest

from app.statistics.e_values.betting import FIRST_RATES, HourEstimates, estimate_rates, measure_unsteadiness, weigh_claims
from app.statistics.e_values.confidence import GRIDS, RunningInterval, add_hours, build_paired_hours, weigh_pairs
from app.statistics.e_values.follow import ComparisonFamily, EvidenceSeries, begin_comparison, find_smallest_means, follow_family
from app.statistics.e_values.nulls import Detector, Hours, Limit, Scale, SideHours, UnfairSide
from app.statistics.e_values.onset import find_onset
from app.statistics.e_values.state_words import EvidenceState, FigureFacts, RatesCompared, choose_state_row, describe_figure
from app.statistics.group_labels import FloatArray
from app.statistics.intervals.verdicts import Verdict
from tests.builders.evidence_hours import ABOVE, BELOW, follow, follow_interval
from tests.golden import golden

LOG_YEAR = math.log(8760)


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(golden("A10_evidence.json").read_text())
    return content


def hours_of(counts: list[list[float]]) -> Hours:
    columns = np.array(counts, np.float64).reshape(-1, 4).T
    return Hours(SideHours(columns[0], columns[1]), SideHours(columns[2], columns[3]))


def limit_of(case: dict[str, Any]) -> Limit:
    kind = case["kind"].replace("_opposite", "")
    scale = Scale.DIFFERENCE if kind.startswith("difference") else Scale.RATIO
    side = UnfairSide.BELOW if kind.endswith("lower") else UnfairSide.ABOVE
    value, other = float(case["limit"]), float(case["other_limit"]) if case.get("other_limit") else None
    if scale is Scale.RATIO:
        return Limit(scale, side, value, other)
    sign = -1 if side is UnfairSide.BELOW else 1
    return Limit(scale, side, sign * value, None if other is None else -sign * other)


def is_close(number: float, expected: float | None, tolerance: float = 1e-9) -> bool:
    if expected is None:
        return math.isnan(number) or number == -math.inf
    return abs(number - expected) <= tolerance * max(1.0, abs(expected))


def sides_of(case: dict[str, Any], weighed: tuple[FloatArray, FloatArray]) -> FloatArray:
    return weighed[1 if case["kind"].endswith("opposite") else 0]


def test_e_values_and_the_first_block_rule(values: dict[str, Any]) -> None:
    for case in values["ln_e"]:
        history = case["reference_history"]
        rate = math.nan if history is None else float(np.clip((history[0] + 0.5) / (history[1] + 1), 1e-4, 1 - 1e-4))
        past = HourEstimates(np.array([rate]), np.ones(1))
        logs = sides_of(case, weigh_claims(hours_of([case["counts"]]), limit_of(case), past, case["divisor"]))[0]

        assert len(logs) == len(case["ln_e"])
        assert all(map(is_close, logs, case["ln_e"])), case


def test_the_points_of_a_first_block(values: dict[str, Any]) -> None:
    assert np.allclose(FIRST_RATES, np.clip(values["first_block_grid"], 1e-4, 1 - 1e-4), rtol=0, atol=1e-12)


def test_reference_rates_wherever_the_series_is_cut(values: dict[str, Any]) -> None:
    blocks = values["history"]["blocks"]
    hours = hours_of([[0, 0, *block] for block in blocks])
    expected = [None if used is None else (used[0] + 0.5) / (used[1] + 1) for used in values["history"]["used"]]

    assert all(map(is_close, estimate_rates(hours.reference), expected))
    for cut in range(1, len(blocks)):
        older = [(place - cut, *block) for place, block in enumerate(blocks[:cut]) if block[1]]
        assert all(map(is_close, estimate_rates(hours.between(cut, len(hours)).reference, older), expected[cut:]))
        assert all(map(is_close, estimate_rates(hours.reference, start=cut), expected[cut:]))


def test_unsteady_hours(values: dict[str, Any]) -> None:
    divisors = measure_unsteadiness(hours_of(values["phi"]["counts"]))

    assert all(is_close(divisor, expected) for divisor, (_, _, expected) in zip(divisors, values["phi"]["terms_mean_divisor"], strict=True))


def test_detectors(values: dict[str, Any]) -> None:
    for case in values["detector"]:
        logs = sides_of(case, weigh_claims(hours_of(case["counts"]), limit_of(case), divisor=case["divisor"]))
        detector, alarms = Detector(logs.shape[1]), []
        for hour, (row, path) in enumerate(zip(logs.tolist(), case["path"], strict=True)):
            detector.add(row)
            assert all(map(is_close, detector.sums, path["ln_R"]))
            assert all(map(is_close, detector.bests, path["ln_C"]))
            assert is_close(detector.log_sum, path["ln_M"])
            assert is_close(detector.log_best, path["ln_Q"])
            alarms += [hour] if detector.has_alarm(LOG_YEAR) else []
        assert next(iter(alarms), None) == case["first_alarm_at_A_8760"]


def test_some_group_and_names(values: dict[str, Any]) -> None:
    for case in values["some_group"]["cases"]:
        weighed = [weigh_claims(hours_of(counts), BELOW)[0].tolist() for counts in case["counts"]]
        detectors = [Detector(5) for _ in weighed]
        for hour, path in enumerate(case["path"]):
            for detector, logs in zip(detectors, weighed, strict=True):
                detector.add(logs[hour])
            sums = np.array([detector.log_sum for detector in detectors])
            assert all(map(is_close, sums, path["ln_M"]))
            assert all(map(is_close, find_smallest_means(sums), path["ln_M_star"]))
        followed, together = follow_many(case["counts"])
        assert [one.episodes[0].alarm if one.episodes else None for one in followed] == case["named_at"]
        named = min(at for at in case["named_at"] if at is not None)
        # In an hour that names a comparison, no alert of some group opens.
        expected = [(case["some_group_at"], named, "named")] if case["some_group_at"] < named else []
        assert [(alarm.opened, alarm.ended, alarm.end) for alarm in together.alarms] == expected


def follow_many(counts: list[list[list[float]]]) -> tuple[list[EvidenceSeries], ComparisonFamily]:
    together, months = ComparisonFamily(LOG_YEAR), [0] * len(counts[0])
    several = [begin_comparison(hours_of(of_group), BELOW, months, name=(str(group),)) for group, of_group in enumerate(counts)]
    return follow_family(together, several, months, total=lambda _: len(counts)), together


def test_smallest_means(values: dict[str, Any]) -> None:
    for example in values["some_group"]["closed_test_examples"]:
        with np.errstate(divide="ignore"):
            means = np.exp(find_smallest_means(np.log(np.array(example["M"]))))
        assert np.allclose(means, example["M_star"], rtol=1e-9)


def test_the_onset(values: dict[str, Any]) -> None:
    counts = values["onset"]["counts"]
    onset = find_onset(hours_of(counts), BELOW, start=0, end=len(counts), leaves=True)

    assert (onset.hour, onset.earliest, onset.latest) == tuple(values["onset"][name] for name in ("onset", "earliest", "latest"))


def test_intervals(values: dict[str, Any]) -> None:
    for case in values["interval"]["cases"]:
        hours = hours_of(case["counts"])
        ends = follow_interval(hours, Scale.RATIO, case["divisor"])
        for lower, upper, (low, high) in zip(*ends, case["interval"], strict=True):
            assert is_close(0.0 if math.isnan(lower) else lower, low)
            assert is_close(upper, high)
        running = RunningInterval.empty(Scale.RATIO)
        for hour in range(len(hours)):
            add_hours([running], [hours.between(hour, hour + 1)], [np.array([case["divisor"]])])
        for at in case["at"]:
            place = int(np.argmin(np.abs(GRIDS[Scale.RATIO] - at["ratio"])))
            assert is_close(running.below[place], at["P_minus"], 1e-8)
            assert is_close(running.above[place], at["P_plus"], 1e-8)


def test_pairs(values: dict[str, Any]) -> None:
    for case in values["paired"]:
        pairs = build_paired_hours([[(first, second, count) for first, second, count in case["cells"]]])
        logs = sides_of(case, weigh_pairs(pairs, limit_of(case), case["divisor"]))[0]
        assert all(map(is_close, logs, case["ln_e"]))


def test_the_first_file_is_unfair_at_the_first_look() -> None:
    hours = hours_of([[26, 2475, 2450, 10086]])
    difference = Limit(Scale.DIFFERENCE, UnfairSide.BELOW, -0.1, 0.1)
    for limit, divisor, expected in ((BELOW, 1, 231.44), (difference, 1, 219.54), (BELOW, 10, 20.25), (difference, 10, 18.03)):
        followed = follow(hours, limit, comparisons=36, months=[0], divisor=divisor)
        assert followed.log_evidence[0] == pytest.approx(expected, abs=0.006)
        assert [episode.alarm for episode in followed.episodes] == [0]


@pytest.mark.nightly
@pytest.mark.parametrize("ratio", [1, 0.9, 0.85, 0.8])
def test_fair_first_files_raise_no_alarm(ratio: float) -> None:
    rng = np.random.default_rng(10)
    for _ in range(200):
        counts = [[rng.binomial(2475, 0.2429 * ratio), 2475, rng.binomial(10086, 0.2429), 10086]]
        for limit in (BELOW, ABOVE):
            assert follow(hours_of(counts), limit, comparisons=2, months=[0]).episodes == ()


def test_every_combination_has_its_row_its_state_and_its_interval(values: dict[str, Any]) -> None:
    rows = values["states"]["rows"]
    assert len(rows) == 108
    for verdict_name, evidence, is_open, row, state, leading in rows:
        verdict = Verdict(verdict_name.replace(" ", "_"))
        assert choose_state_row(verdict, EvidenceState(evidence), is_alert_open=is_open) == (row, state)
        for limits in ((0.8, None), (None, 1.25), (0.8, 1.25)):
            is_below = limits[0] is not None
            compared = RatesCompared(monitored=(50, 100), reference=(48, 100), interval=(0.6, 1.3), since="5 Oct 2026")
            of_onset = RatesCompared(monitored=(20 if is_below else 90, 100), reference=(50, 100), interval=(0.3, 0.5))
            facts = {
                "group": "women",
                "reference": "men",
                "outcome": "are approved",
                "rate": "the favourable rate",
                "is_ratio": True,
                "lower_limit": limits[0],
                "upper_limit": limits[1],
                "verdict": verdict,
                "evidence": EvidenceState(evidence),
                "is_alert_open": is_open,
                "hour": compared,
                "onset": of_onset,
                "event": "8 Oct 2026",
                "since": "7 Oct 2026",
                "reason": "no reference record is favourable",
            }
            of_chapter, of_hour = describe_figure(FigureFacts(**facts, chapter=compared)), describe_figure(FigureFacts(**facts))
            for statement, kind in ((of_chapter, "valid at every look"), (of_hour, "this hour")):
                assert (statement.row, statement.state) == (row, state)
                assert statement.interval_kind == ("since the onset" if leading == "pooled since the onset" else kind)
                for limit in limits:
                    assert limit is None or f"{limit:g}" in statement.sentence or row in {12, 13}
                unset = {"least 0.8", "most 1.25"} - {f"least {limits[0]}", f"most {limits[1]}"}
                assert not any(words in statement.sentence for words in unset)
                assert "{" not in statement.sentence
                assert ".." not in statement.sentence
