# ruff: noqa: PLR2004 - the numbers are those of the worlds, and of what must come out
"""Simulated worlds for evidence over time: 300 records an hour, 30 % monitored, reference rate 0.5, one false alarm a year."""

import argparse
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.evidence.betting import log_e_values
from app.evidence.confidence import follow_interval
from app.evidence.detector import HOURS_OF_A_YEAR, Detector
from app.evidence.following import Followed
from app.evidence.hours import Hours, Side
from app.evidence.nulls import SMALLEST_RATE, Limit, Scale, UnfairSide
from app.evidence.paired_bets import PairedHours, weigh_pairs_against_fairness
from tests.builders.evidence_hours import ABOVE, BELOW, follow_months, simulate
from tests.builders.exact_e_values import exact_terms
from tests.builders.hours import count_hours
from tests.builders.trials import Trial, run_worlds

HOURS = 2_000
CHANGE = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30, help="runs of each world (default 30)")
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--only", default="", help="worlds whose name contains this")
    parser.add_argument("--picture", type=Path, help="only draw the picture of the docs into this SVG file")
    given = parser.parse_args()
    if given.picture is not None:
        given.picture.write_text(draw_picture(given.seed), encoding="utf-8")
        return
    run_worlds(WORLDS, given.runs, given.seed, only=given.only)


def steady(runs: int, seed: int) -> Iterator[Trial]:
    """A ratio that does not change, at the limit and inside."""
    for ratio, allowed in ((0.80, 0.2 * runs), (0.85, 1), (0.90, 1)):
        alarms = _count_alarms([simulate([ratio] * HOURS, seed + run) for run in range(runs)])
        yield Trial(f"ratio {ratio:.2f}, {HOURS} h", f"{alarms} runs with an alarm", f"at most {allowed:.0f}", alarms <= allowed)
    daily = 0.5 + 0.15 * np.sin(np.arange(HOURS) * 2 * np.pi / 24)
    for ratio in (0.85, 0.90):
        alarms = _count_alarms([simulate([ratio] * HOURS, seed + run, base=daily) for run in range(runs)])
        yield Trial(f"ratio {ratio:.2f}, rates by time of day", f"{alarms} runs with an alarm", "at most 1", alarms <= 1)


def traffic(runs: int, seed: int) -> Iterator[Trial]:
    """Records by time of day: few at night, and another mix of groups."""
    alarms = 0
    for run in range(runs):
        rng = np.random.default_rng(seed + run)
        day = np.sin(np.arange(HOURS) * 2 * np.pi / 24)
        monitored, reference = rng.poisson(90 * (1 + 0.9 * day)), rng.poisson(210 * (1 - 0.5 * day))
        alarms += bool(follow_months(_hours(rng.binomial(monitored, 0.425), monitored, rng.binomial(reference, 0.5), reference)).episodes)
    yield Trial("ratio 0.85, traffic and mix by time of day", f"{alarms} runs with an alarm", "at most 1", alarms <= 1)


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
        alarms += bool(follow_months(_hours(counts[0], monitored, counts[1], 300 - monitored)).episodes)
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
        delays = []
        for run in range(runs):
            rng = np.random.default_rng(seed + run)
            detector, found = Detector(5), math.inf
            for hour, logs in enumerate(_weigh_pairs(rng, [0.95] * CHANGE + [to] * 100)):
                detector.add(logs)
                if hour >= CHANGE and detector.alarms(math.log(HOURS_OF_A_YEAR)):
                    found = hour - CHANGE + 1
                    break
            delays.append(found)
        median = float(np.median(delays))
        yield Trial(f"balanced, fall to {to:.2f}: median delay", f"{median:g} h", f"at most {delay}", median <= delay)
    alarms = 0
    for run in range(runs):
        detector = Detector(5)
        for logs in _weigh_pairs(np.random.default_rng(seed + run), [0.85] * HOURS):
            detector.add(logs)
            if detector.alarms(math.log(HOURS_OF_A_YEAR)):
                alarms += 1
                break
    yield Trial(f"balanced ratio 0.85, {HOURS} h", f"{alarms} runs with an alarm", "at most 1", alarms <= 1)


def many(runs: int, seed: int) -> Iterator[Trial]:
    """Ten comparisons at once."""
    alarms = sum(
        any(follow_months(simulate([0.85] * HOURS, 1_000 * seed + 10 * run + one), comparisons=10).episodes for one in range(10))
        for run in range(runs)
    )
    yield Trial("ten comparisons at 0.85", f"{alarms} runs with an alarm", "at most 1", alarms <= 1)


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
            sides = []
            for side in (monitored[person], ~monitored[person]):
                sides += [
                    np.bincount(hour[counted & side & part], minlength=hours) for part in (outcome[person], np.ones(applications, bool))
                ]
            counts[name] += bool(follow_months(_hours(*sides)).episodes)
    firsts, every = counts.values()
    yield Trial("ratio 0.85, persons with ids", f"{firsts} runs with an alarm", "at most 1", firsts <= 1)
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
            known = at < hours
            sides = []
            for side in (monitored, ~monitored):
                sides += [np.bincount(at[known & side & part], minlength=hours) for part in (favourable, np.ones(scored.size, bool))]
            counts[name] += bool(follow_months(_hours(*sides)).episodes)
    yield Trial(
        "late labels of one group, counted at the horizon", f"{counts['horizon']} runs with an alarm", "at most 1", counts["horizon"] <= 1
    )
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


def draw_picture(seed: int) -> str:
    """Returns an SVG of hourly ratios that fall, and of the evidence that grows from them."""
    change, hours = 120, 150
    world = simulate([0.95] * change + [0.65] * (hours - change), seed)
    followed = follow_months(world)
    episode = followed.episodes[0]
    monitored, reference = ((side.favourable + 0.5) / (side.records + 1) for side in (world.monitored, world.reference))
    evidence = followed.log_evidence / followed.log_threshold

    def x(hour: float) -> float:
        return 60 + 560 * hour / hours

    def y(ratio: float) -> float:
        return 150 - 110 * math.log(ratio / 0.4) / math.log(1.5 / 0.4)

    dots = "".join(f'<circle cx="{x(hour + 0.5):.1f}" cy="{y(ratio):.1f}" r="2"/>' for hour, ratio in enumerate(monitored / reference))
    line = " ".join(f"{x(hour + 1):.1f},{300 - 100 * min(part, 1):.1f}" for hour, part in enumerate(evidence))
    since, alarm = x(episode.since.hour), x(episode.alarm + 1)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 690 350" role="img" aria-labelledby="title"
 font-family="sans-serif" font-size="12">
<title id="title">Hourly ratios scatter around the limit; the evidence grows from the hour of the change to the alarm</title>
<rect width="690" height="350" fill="#fff"/>
<g fill="#333"><text x="60" y="24" font-weight="bold">Ratio of each hour</text><text x="60" y="186" font-weight="bold">Evidence</text>
<text x="52" y="{y(1):.0f}" text-anchor="end">1</text><text x="52" y="{y(0.8) + 4:.0f}" text-anchor="end">0.8</text>
<text x="52" y="204" text-anchor="end">alarm</text><text x="52" y="304" text-anchor="end">none</text>
<text x="60" y="322">0 h</text><text x="620" y="322" text-anchor="end">{hours} h</text>
<text x="{since:.0f}" y="340" text-anchor="end">since hour {episode.since.hour}</text>
<text x="{alarm + 6:.0f}" y="340">alarm in hour {episode.alarm}</text></g>
<g stroke="#888" stroke-dasharray="4 3"><path d="M60 {y(0.8):.1f}H620M60 200H620"/></g>
<g stroke="#b3261e"><path d="M{since:.1f} 32V326M{alarm:.1f} 32V326"/></g>
<g fill="#1f5fa8">{dots}</g>
<polyline points="{line}" fill="none" stroke="#1f5fa8" stroke-width="2"/>
</svg>
"""


def _weigh_pairs(rng: np.random.Generator, ratios: list[float]) -> list[list[float]]:
    gained = 0.01
    chances = np.array([[0.5 * ratio - gained, gained, 0.5 - 0.5 * ratio + gained, 0.5 - gained] for ratio in ratios])
    counts = np.vstack([rng.multinomial(300, one) for one in chances]).astype(float)
    hours = PairedHours(np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0]), counts)
    return weigh_pairs_against_fairness(hours, 0.8, UnfairSide.BELOW).tolist()  # type: ignore[no-any-return]


def _hours(*counts: npt.ArrayLike) -> Hours:
    monitored, of_monitored, reference, of_reference = (np.asarray(part, float) for part in counts)
    return Hours(Side(monitored, of_monitored), Side(reference, of_reference))


def _count_alarms(worlds: list[Hours]) -> int:
    found: list[Followed] = [follow_months(hours) for hours in worlds]
    return sum(bool(one.episodes) for one in found)


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
    main()
