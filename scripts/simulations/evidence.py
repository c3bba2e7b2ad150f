# ruff: noqa: PLR2004 - the numbers are those of the worlds, and of what must come out
"""Simulated worlds for evidence over time: 300 records an hour, 30 % monitored, reference rate 0.5, one false alarm a year."""

import math
from collections.abc import Iterator
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from app.statistics.e_values.betting import log_e_values
from app.statistics.e_values.change_detector import HOURS_OF_A_YEAR, Detector
from app.statistics.e_values.confidence import follow_interval
from app.statistics.e_values.nulls import SMALLEST_RATE, Hours, Limit, Scale, Side, UnfairSide
from app.statistics.e_values.paired_bets import PairedHours, weigh_pairs
from tests.builders.evidence_hours import ABOVE, BELOW, follow_months, simulate
from tests.builders.exact_e_values import exact_terms
from tests.builders.hours import count_hours
from tests.builders.trials import Trial, run_worlds

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

HOURS = 2_000
CHANGE = 300


def steady(runs: int, seed: int) -> Iterator[Trial]:
    """A ratio that does not change, at the limit and inside."""
    for ratio, allowed in ((0.80, 0.2 * runs), (0.85, 1), (0.90, 1)):
        alarms = sum(_has_alarm(simulate([ratio] * HOURS, seed + run)) for run in range(runs))
        yield _limit(f"ratio {ratio:.2f}, {HOURS} h", alarms, allowed)
    daily = 0.5 + 0.15 * np.sin(np.arange(HOURS) * 2 * np.pi / 24)
    for ratio in (0.85, 0.90):
        alarms = sum(_has_alarm(simulate([ratio] * HOURS, seed + run, base=daily)) for run in range(runs))
        yield _limit(f"ratio {ratio:.2f}, rates by time of day", alarms)


def traffic(runs: int, seed: int) -> Iterator[Trial]:
    """Records by time of day: few at night, and another mix of groups."""
    alarms = 0
    for run in range(runs):
        rng = np.random.default_rng(seed + run)
        day = np.sin(np.arange(HOURS) * 2 * np.pi / 24)
        monitored, reference = rng.poisson(90 * (1 + 0.9 * day)), rng.poisson(210 * (1 - 0.5 * day))
        alarms += _has_alarm(_hours(rng.binomial(monitored, 0.425), monitored, rng.binomial(reference, 0.5), reference))
    yield _limit("ratio 0.85, traffic and mix by time of day", alarms)


def silence(_runs: int, seed: int) -> Iterator[Trial]:
    """Nothing to see: no records, or an upper limit that cannot be exceeded."""
    long = round(HOURS_OF_A_YEAR) + HOURS
    nothing = np.zeros(long)
    alarms = len(follow_months(_hours(nothing, nothing, nothing, nothing)).episodes)
    yield Trial(f"no records, {long:,} h", f"{alarms} alarms", "0", alarms == 0)
    alarms = len(follow_months(simulate([1.05] * long, seed, base=0.9), ABOVE).episodes)
    yield Trial(f"upper limit at base 0.9, {long:,} h", f"{alarms} alarms", "0", alarms == 0)


def unsteady(runs: int, seed: int) -> Iterator[Trial]:
    """Hours that vary more than chance: effects of standard deviation 0.2 on the logits of both groups."""
    alarms = 0
    for run in range(runs):
        rng = np.random.default_rng(seed + run)
        monitored = rng.binomial(300, 0.3, HOURS)
        rates = [1 / (1 + np.exp(-(math.log(rate / (1 - rate)) + rng.normal(0, 0.2, HOURS)))) for rate in (0.425, 0.5)]
        counts = rng.binomial(monitored, rates[0]), rng.binomial(300 - monitored, rates[1])
        alarms += _has_alarm(_hours(counts[0], monitored, counts[1], 300 - monitored))
    yield Trial("ratio 0.85, hour effects sd 0.2", f"{alarms} runs with an alarm", "at most 10 %", alarms <= 0.1 * runs)


def falls(runs: int, seed: int) -> Iterator[Trial]:
    """A fall from 0.95, its hour, and the return to 0.95."""
    for to, delay, error in ((0.75, 100, 2), (0.70, 28, 1), (0.60, 8, 1), (0.50, 5, 0)):
        delays: list[float] = []
        errors: list[float] = []
        returns: list[float] = []
        for run in range(runs):
            ratios = [0.95] * CHANGE + [to] * CHANGE + [0.95] * 200
            episodes = [one for one in follow_months(simulate(ratios, seed + run)).episodes if one.alarm >= CHANGE]
            delays.append(episodes[0].alarm - CHANGE + 1 if episodes else math.inf)
            errors.append(abs(episodes[0].since.hour - CHANGE) if episodes else math.inf)
            if episodes and episodes[0].resolved is not None:
                returns.append(episodes[0].resolved - 2 * CHANGE + 1)
        medians = [float(np.median(some)) for some in (delays, errors, returns or [math.inf])]
        yield Trial(f"fall to {to:.2f}: median delay", f"{medians[0]:g} h", f"at most {delay}", medians[0] <= delay)
        yield Trial(f"fall to {to:.2f}: median error of the onset", f"{medians[1]:g} h", f"at most {error}", medians[1] <= error)
        yield Trial(f"back from {to:.2f}: median delay until resolved", f"{medians[2]:g} h", "at most 18", medians[2] <= 18)


def pairs(runs: int, seed: int) -> Iterator[Trial]:
    """Records with their counterfactuals: one in a hundred gains by the monitored value, the others lose."""
    for to, delay in ((0.75, 15), (0.70, 6), (0.60, 2)):
        median = float(np.median([_await_alarm([0.95] * CHANGE + [to] * 100, seed + run, since=CHANGE) for run in range(runs)]))
        yield Trial(f"counterfactual, fall to {to:.2f}: median delay", f"{median:g} h", f"at most {delay}", median <= delay)
    alarms = sum(math.isfinite(_await_alarm([0.85] * HOURS, seed + run)) for run in range(runs))
    yield _limit(f"counterfactual ratio 0.85, {HOURS} h", alarms)


def many(runs: int, seed: int) -> Iterator[Trial]:
    """Ten comparisons at once."""
    alarms = sum(
        any(follow_months(simulate([0.85] * HOURS, 1_000 * seed + 10 * run + one), comparisons=10).episodes for one in range(10))
        for run in range(runs)
    )
    yield _limit("ten comparisons at 0.85", alarms)


def intervals(runs: int, seed: int) -> Iterator[Trial]:
    """The interval at 500 looks."""
    missed, widths = 0, []
    runs = max(runs, 200)
    for run in range(runs):
        lower, upper = follow_interval(simulate([0.85] * 500, seed + run), Scale.RATIO)
        missed += bool(np.any(lower > 0.85) or np.any(upper < 0.85))
        widths.append((upper[23] - lower[23], upper[-1] - lower[-1]))
    day, end = (float(np.median([pair[place] for pair in widths])) for place in (0, 1))
    yield Trial(
        f"interval, 500 looks, {runs} runs: missed at any look", f"{missed} ({missed / runs:.1%})", "at most 5 %", missed <= 0.05 * runs
    )
    yield Trial(
        "interval: median width at 24 h and at 500 h", f"{day:.3f} and {end:.3f}", "at most 0.20 and 0.05", day <= 0.2 and end <= 0.05
    )


def fairness(runs: int, seed: int) -> Iterator[Trial]:
    """A month at the limit itself."""
    runs = max(runs, 400)
    shown = sum(any(follow_months(simulate([0.8] * 720, seed + run)).shown_fair) for run in range(runs))
    yield Trial(f"shown fair at 0.80 within a month, {runs} runs", f"{shown} ({shown / runs:.1%})", "at most 5 %", shown <= 0.05 * runs)


def persons(runs: int, seed: int) -> Iterator[Trial]:
    """People who apply again and again with the same outcome: with their id only their first record counts."""
    counts = {"first records only": 0, "all records": 0}
    for run in range(runs):
        rng = np.random.default_rng(seed + run)
        people, applications, hours = 3_000, 60_000, 500
        monitored = rng.random(people) < 0.3
        outcome = rng.random(people) < np.where(monitored, 0.425, 0.5)
        person, hour = rng.integers(0, people, applications), np.sort(rng.integers(0, hours, applications))
        first = np.zeros(applications, bool)
        first[np.unique(person, return_index=True)[1]] = True
        for name, counted in (("first records only", first), ("all records", np.ones(applications, bool))):
            who = person[counted]
            counts[name] += _has_alarm(_count_by_hour(hour[counted], monitored[who], outcome[who], hours))
    firsts, every = counts.values()
    yield _limit("ratio 0.85, persons with ids", firsts)
    yield Trial("ratio 0.85, the same without ids (not covered)", f"{every} runs with an alarm", "reported only", True)


def labels(runs: int, seed: int) -> Iterator[Trial]:
    """Labels whose delay depends on group and outcome, counted at scoring time + horizon or when they arrive."""
    counts = {"horizon": 0, "arrival": 0}
    horizon, hours = 240, 1_200
    for run in range(runs):
        rng = np.random.default_rng(seed + run)
        scored = np.repeat(np.arange(hours), 300)
        monitored = rng.random(scored.size) < 0.3
        favourable = rng.random(scored.size) < np.where(monitored, 0.425, 0.5)
        # A favourable outcome of the monitored group is known late, an unfavourable one soon; all within the horizon.
        delay = rng.integers(0, np.where(monitored & favourable, horizon, 24))
        for name, at in (("horizon", scored + horizon), ("arrival", scored + delay)):
            arrived = at < hours
            counts[name] += _has_alarm(_count_by_hour(at[arrived], monitored[arrived], favourable[arrived], hours))
    yield _limit("late labels of one group, counted at the horizon", counts["horizon"])
    yield Trial("the same, counted as they arrive (the trap)", f"{counts['arrival']} runs with an alarm", "reported only", True)


def oracle(_runs: int, seed: int) -> Iterator[Trial]:
    """10,000 random tables of up to 1,000 records a side in arbitrary precision; of more, doubles have fewer digits left."""
    rng = np.random.default_rng(seed)
    limits = [BELOW, ABOVE, Limit(Scale.DIFFERENCE, UnfairSide.BELOW, -0.1, 0.1), Limit(Scale.DIFFERENCE, UnfairSide.ABOVE, 0.1, -0.1)]
    worst, tried = 0.0, 0
    while tried < 10_000:
        limit = limits[int(rng.integers(len(limits)))]
        null = limit.inside if rng.random() < 0.5 else limit.outside
        n = [int(one) for one in np.ceil(10 ** rng.uniform(0, 3, 2))]
        s = [int(rng.integers(0, one + 1)) for one in n]
        bets = rng.uniform(SMALLEST_RATE, 1 - SMALLEST_RATE, 2)
        ours = float(log_e_values(count_hours([(s[0], n[0])], [(s[1], n[1])]), null, bets[:1, None], bets[1:, None])[0, 0])
        if math.isnan(ours):
            continue
        a, b = (0, 1) if null.monitored_first else (1, 0)
        terms = exact_terms(((s[a], n[a]), (s[b], n[b])), null, (float(bets[a]), float(bets[b])))
        worst = max(worst, abs(float(Decimal(ours) - sum(terms))) / max(1.0, float(sum(map(abs, terms)))))
        tried += 1
    yield Trial("10,000 e-values next to arbitrary precision", f"largest difference {worst:.1e}", "at most 1e-12", worst <= 1e-12)


def _await_alarm(ratios: list[float], seed: int, since: int = 0) -> float:
    """Returns the hours from `since` to an alarm of pairs, of which one in a hundred gains; infinity without one."""
    gained, rng = 0.01, np.random.default_rng(seed)
    chances = np.array([[0.5 * ratio - gained, gained, 0.5 - 0.5 * ratio + gained, 0.5 - gained] for ratio in ratios])
    counts = np.vstack([rng.multinomial(300, row) for row in chances]).astype(float)
    hours = PairedHours(np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0]), counts)
    detector = Detector(5)
    for hour, logs in enumerate(weigh_pairs(hours, Limit(Scale.RATIO, UnfairSide.BELOW, 0.8))[0].tolist()):
        detector.add(logs)
        if hour >= since and detector.alarms(math.log(HOURS_OF_A_YEAR)):
            return hour - since + 1
    return math.inf


def _count_by_hour(hour: IntArray, monitored: BoolArray, favourable: BoolArray, hours: int) -> Hours:
    every = np.ones(hour.size, bool)
    counts = [np.bincount(hour[side & part], minlength=hours) for side in (monitored, ~monitored) for part in (favourable, every)]
    return _hours(*counts)


def _hours(*counts: npt.ArrayLike) -> Hours:
    monitored, of_monitored, reference, of_reference = (np.asarray(part, float) for part in counts)
    return Hours(Side(monitored, of_monitored), Side(reference, of_reference))


def _has_alarm(hours: Hours) -> bool:
    return bool(follow_months(hours).episodes)


def _limit(world: str, alarms: int, most: float = 1) -> Trial:
    return Trial(world, f"{alarms} runs with an alarm", f"at most {most:.0f}", alarms <= most)


WORLDS = {
    "steady": steady,
    "traffic": traffic,
    "silence": silence,
    "unsteady": unsteady,
    "falls": falls,
    "pairs": pairs,
    "many": many,
    "intervals": intervals,
    "fairness": fairness,
    "persons": persons,
    "labels": labels,
    "oracle": oracle,
}

if __name__ == "__main__":
    run_worlds(WORLDS, __doc__, runs=30)
