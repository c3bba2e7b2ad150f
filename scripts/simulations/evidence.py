# ruff: noqa: PLR2004 - the numbers are those of the worlds, and of what must come out
"""Simulated worlds for evidence over time: 300 records an hour, 30 % monitored, reference rate 0.5, one false alarm a year."""

import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from operator import le

import numpy as np
import numpy.typing as npt

from app.statistics.e_values.betting import HourEstimates, compute_log_e_values, weigh_claims
from app.statistics.e_values.confidence import PairedHours, weigh_pairs
from app.statistics.e_values.follow import ComparisonFamily, Episode, EvidenceSeries, begin_comparison, follow_family
from app.statistics.e_values.nulls import HOURS_OF_A_YEAR, SMALLEST_RATE, Detector, Hours, Limit, Scale, SideHours, UnfairSide
from tests.builders.evidence_hours import ABOVE, BELOW, follow, follow_interval, follow_months, simulate
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
            episodes = [episode for episode in follow_months(simulate(ratios, seed + run)).episodes if episode.alarm >= CHANGE]
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
    """Persons with several records, ratio .85: as if each record were another person, at a tenth, and by first records."""
    worlds: tuple[tuple[str, Callable[[np.random.Generator], Persons], tuple[int, int, int]], ...] = (
        ("30 persons an hour, 10 times each in it", lambda rng: _copies(rng, 30, 0), (99, 0, 0)),
        ("300 persons an hour, 10 times each in it", lambda rng: _copies(rng, 300, 0), (99, 0, 0)),
        ("30 new persons an hour, 10 records in 24 h", lambda rng: _copies(rng, 30, 24), (99, 0, 0)),
        ("30 new persons an hour, 10 records in 168 h", lambda rng: _copies(rng, 30, 168), (99, 0, 1)),
        ("30 new persons an hour, 10 records in 720 h", lambda rng: _copies(rng, 30, 720), (99, 0, 1)),
        ("beyond the reach: copies geometric, mean 10, at most 40", lambda rng: _copies(rng, 30, 0, "geometric"), (99, 99, 0)),
        ("beyond the reach: 30 copies", lambda rng: _copies(rng, 30, 0, "thirty"), (99, 99, 0)),
        ("beyond the reach: 80 % from a pool of 400", _pool, (99, 99, 0)),
    )
    for name, draw, allowed in worlds:
        alarms = [0, 0, 0]
        for run in range(min(runs, 20)):
            hour, monitored, favourable, first = draw(np.random.default_rng(seed + run))
            every = _count_by_hour(hour, monitored, favourable, HOURS)
            firsts = _count_by_hour(hour[first], monitored[first], favourable[first], HOURS)
            for place, (hours, divisor) in enumerate(((every, 1.0), (every, 10.0), (firsts, 1.0))):
                alarms[place] += bool(_follow(hours, divisor=divisor).episodes)
        measured = " → ".join(map(str, alarms))
        most = " → ".join("any" if one == 99 else str(one) for one in allowed)
        yield Trial(name, f"{measured} of {min(runs, 20)} runs with an alarm", most, all(map(le, alarms, allowed)))
    for people in (30, 300):
        alarms = [
            sum(
                math.isfinite(_await_alarm([0.85] * HOURS, seed + run, persons=people, records=records, divisor=divisor))
                for run in range(min(runs, 20))
            )
            for records, divisor in ((10, 1.0), (10, 10.0), (1, 1.0))
        ]
        measured = " → ".join(map(str, alarms))
        name = f"counterfactual: {people} persons an hour, 10 times each in it"
        yield Trial(name, f"{measured} of {min(runs, 20)} runs with an alarm", "any → 0 → 0", not any(alarms[1:]))
    for to in (0.75, 0.70, 0.60, 0.50):
        delays = []
        for run in range(min(runs, 20)):
            episodes = _follow(simulate([0.95] * CHANGE + [to] * 1_500, seed + run), divisor=10.0).episodes
            delays.append(episodes[0].alarm - CHANGE + 1 if episodes else math.inf)
        yield Trial(f"at a tenth, fall to {to:.2f}: median delay", f"{np.median(delays):g} h", "reported only", True)


def first_files(_runs: int, seed: int) -> Iterator[Trial]:
    """One file of 12,561 records, as it was and from fair models."""
    difference = Limit(Scale.DIFFERENCE, UnfairSide.BELOW, -0.1, 0.1)
    hours = _hours([26], [2475], [2450], [10086])
    for limit, divisor, expected in ((BELOW, 1, 231.44), (difference, 1, 219.54), (BELOW, 10, 20.25), (difference, 10, 18.03)):
        measured = float(follow(hours, limit, comparisons=36, months=[0], divisor=divisor).log_evidence[0])
        name = f"first file, {limit.scale}, divisor {divisor}: ln M"
        yield Trial(name, f"{measured:.2f}, needed 12.66", f"{expected:.2f}", abs(measured - expected) <= 0.006)
    rng = np.random.default_rng(seed)
    for ratio in (1, 0.9, 0.85, 0.8):
        alarms, largest = 0, -math.inf
        for _ in range(200):
            fair = _hours([rng.binomial(2475, 0.2429 * ratio)], [2475], [rng.binomial(10086, 0.2429)], [10086])
            for limit in (BELOW, ABOVE):
                followed = follow(fair, limit, comparisons=2, months=[0])
                alarms += len(followed.episodes)
                largest = max(largest, followed.follower.watching.log_sum)
        yield Trial(
            f"200 fair first files of ratio {ratio:g}, both limits", f"{alarms} alarms, largest ln M {largest:.2f}", "0", alarms == 0
        )


def batches(runs: int, seed: int) -> Iterator[Trial]:
    """Monthly batches with a fall in month 7."""
    runs = max(10 * runs, 100)
    for records in (400, 1_000, 2_000, 4_000, 10_000):
        for budget in (8_760.0, 240.0):
            soon = year = right = early = 0
            for run in range(runs):
                hours = simulate([0.95] * 6 + [0.60] * 6, seed + run, records=records)
                episodes = _follow_batches(hours, budget)
                alarms = [episode.alarm for episode in episodes]
                early += any(alarm < 6 for alarm in alarms)
                soon += any(alarm in {6, 7} for alarm in alarms)
                year += any(alarm >= 6 for alarm in alarms)
                right += any(episode.alarm >= 6 and episode.since.hour == 6 for episode in episodes)
            shares = [100 * count / runs for count in (soon, year)] + [100 * right / max(year, 1)]
            needed = early == 0 and (records < 4_000 or shares[0] >= 95) and (records < 1_000 or shares[2] >= 95)
            name = f"batches of {records:,}, A = {budget:,.0f}: month 7 or 8 / within the year; right month"
            yield Trial(name, "{:.0f} / {:.0f}; {:.0f} %".format(*shares), "95 from 4,000; 95 from 1,000 on", needed)
    quiet = sum(bool(_follow_batches(simulate([ratio] * 12, seed + run), 8_760.0)) for ratio in (0.8, 0.85) for run in range(runs))
    yield Trial("batches on the limit and at .85, a year", f"{quiet} runs with an alarm", "0", quiet == 0)


def groups(runs: int, seed: int) -> Iterator[Trial]:
    """Some group and names: hours to the first single alarm, and to the first alarm of any kind."""
    runs, before = max(runs // 3, 5), 50
    for count in (1, 4, 10, 40):
        for name, falling, to in (("all", count, 0.7), ("all", count, 0.6), ("half", count // 2, 0.7), ("one", 1, 0.7), ("one", 1, 0.6)):
            if not falling or (count == 1 and name != "one"):
                continue
            single, any_kind, wrong = [], [], 0
            for run in range(runs):
                followed, together, alone = _follow_groups(count, falling, to, seed + run, before, 120)
                named = [(place, episode) for place, comparison in enumerate(followed) for episode in comparison.episodes]
                wrong += any(falling <= place < count or episode.alarm < before for place, episode in named)
                some = [alarm.opened for alarm in together.alarms if alarm.opened >= before]
                single.append(min((hour for hour in alone if hour >= before), default=math.inf) - before + 1)
                any_kind.append(min([episode.alarm for _, episode in named] + some, default=math.inf) - before + 1)
            measured = f"{np.median(single):g} / {np.median(any_kind):g} h, {wrong} wrong names"
            is_good = wrong == 0 and bool(np.median(any_kind) <= np.median(single))
            yield Trial(f"{name} of {count} groups falls to {to:.2f}: single / any", measured, "any ≤ single, 0 wrong", is_good)
    for ratio, allowed in ((0.8, 0.23), (0.85, 0.0)):
        alarms = 0
        for run in range(runs):
            followed, together, _ = _follow_groups(10, 10, ratio, seed + run, 0, HOURS)
            alarms += bool(together.alarms) or any(comparison.episodes for comparison in followed)
        yield Trial(
            f"10 groups at {ratio:.2f}, {HOURS} h: any alarm",
            f"{alarms} of {runs} runs",
            f"at most {allowed:.0%}",
            alarms <= allowed * runs + 1,
        )


def corrections(runs: int, seed: int) -> Iterator[Trial]:
    """Decisions that are corrected 48 hours later, on the limit: evidence as logged, and computed again every hour."""
    runs, delay = 5 * runs, 48
    for share in (0.02, 0.10, 0.30):
        alarms = [0, 0]
        for run in range(runs):
            rng = np.random.default_rng(seed + run)
            raw = simulate([0.8] * HOURS, seed + run)
            sides = []
            for side, rate in zip(raw.sides, (0.4, 0.5), strict=True):
                redrawn = rng.binomial(side.records.astype(int), share)
                lost = rng.hypergeometric(side.favourable.astype(int), (side.records - side.favourable).astype(int), redrawn)
                sides.append(SideHours(side.favourable - lost + rng.binomial(redrawn, rate), side.records))
            logs, after = (weigh_claims(hours, BELOW)[0].tolist() for hours in (raw, Hours(*sides)))
            alarms[0] += _reaches(logs, math.log(HOURS_OF_A_YEAR))
            settled, has_alarm = Detector(5), False
            for hour in range(HOURS):
                if hour >= delay:
                    settled.add(after[hour - delay])
                if max(settled.bests) + 3 * delay**0.5 < math.log(HOURS_OF_A_YEAR) / 4:
                    continue  # too far from an alarm
                now = Detector(5, list(settled.sums), list(settled.bests))
                for recent in logs[max(hour - delay + 1, 0) : hour + 1]:
                    now.add(recent)
                has_alarm |= now.has_alarm(math.log(HOURS_OF_A_YEAR))
            alarms[1] += has_alarm
        measured = [alarm / runs for alarm in alarms]
        is_good = max(measured) <= HOURS / HOURS_OF_A_YEAR
        yield Trial(f"{share:.0%} corrected: as logged / again", f"{measured[0]:.1%} / {measured[1]:.1%}", "at most 22.8 %", is_good)


def decade(runs: int, seed: int) -> Iterator[Trial]:
    """Ten years: 87,600 looks."""
    looks = 87_600
    several = min(runs, 40)
    for ratio in (0.85, 0.90):
        worlds = (simulate([ratio] * looks, seed + run) for run in range(several))
        alarms = sum(_reaches(weigh_claims(hours, BELOW)[0].tolist(), math.log(looks)) for hours in worlds)
        yield Trial(f"ten years at {ratio:.2f}, A = {looks:,}", f"{alarms} of {several} runs", "at most 20 %", alarms <= 0.2 * several)


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
        ours = float(compute_log_e_values(count_hours([(s[0], n[0])], [(s[1], n[1])]), null, bets[:1, None], bets[1:, None])[0, 0])
        if math.isnan(ours):
            continue
        a, b = (0, 1) if null.monitored_first else (1, 0)
        terms = exact_terms(((s[a], n[a]), (s[b], n[b])), null, (float(bets[a]), float(bets[b])))
        worst = max(worst, abs(float(Decimal(ours) - sum(terms))) / max(1.0, float(sum(map(abs, terms)))))
        tried += 1
    yield Trial("10,000 e-values next to arbitrary precision", f"largest difference {worst:.1e}", "at most 1e-12", worst <= 1e-12)


Persons = tuple[IntArray, BoolArray, BoolArray, BoolArray]
"""Hour, group and outcome of each record, and whether it is its person's first."""


def _copies(rng: np.random.Generator, people: int, spread: int, how: str = "ten") -> Persons:
    """Persons who come with each hour; their records are within so many hours, all with one outcome."""
    total = people * HOURS
    number = np.full(total, 30 if how == "thirty" else 10)
    if how == "geometric":
        number = np.minimum(rng.geometric(0.1, total), 40)
    monitored = rng.random(total) < 0.3
    outcome = rng.random(total) < np.where(monitored, 0.425, 0.5)
    person = np.repeat(np.arange(total), number)
    hour = person // people + (rng.integers(0, spread, person.size) if spread else 0)
    person, hour = person[hour < HOURS], hour[hour < HOURS]
    return _mark_first(person, hour, monitored, outcome)


def _pool(rng: np.random.Generator) -> Persons:
    """300 records an hour, 80 % of them of one pool of 400 persons."""
    hour = np.repeat(np.arange(HOURS), 300)
    person = np.where(rng.random(hour.size) < 0.8, rng.integers(0, 400, hour.size), 400 + np.arange(hour.size))
    monitored = rng.random(400 + hour.size) < 0.3
    outcome = rng.random(400 + hour.size) < np.where(monitored, 0.425, 0.5)
    return _mark_first(person, hour, monitored, outcome)


def _mark_first(person: IntArray, hour: IntArray, monitored: BoolArray, outcome: BoolArray) -> Persons:
    order = np.argsort(hour, kind="stable")
    first = np.zeros(person.size, bool)
    first[order[np.unique(person[order], return_index=True)[1]]] = True
    return hour, monitored[person], outcome[person], first


def _follow(hours: Hours, *, divisor: float) -> EvidenceSeries:
    return follow(hours, BELOW, comparisons=1, months=[hour // 720 for hour in range(len(hours))], divisor=divisor)


def _follow_batches(hours: Hours, budget: float) -> Sequence[Episode]:
    """Batches a month apart: the reference rate is that of the last one, which has enough records."""
    reference = hours.reference
    rates = np.concatenate([[np.nan], ((reference.favourable + 0.5) / (reference.records + 1))[:-1]])
    past = HourEstimates(rates, np.ones(len(hours)))
    return follow(hours, BELOW, comparisons=2, months=list(range(len(hours))), budget_hours=budget, past=past).episodes


def _follow_groups(
    count: int, falling: int, to: float, seed: int, before: int, after: int
) -> tuple[list[EvidenceSeries], ComparisonFamily, list[float]]:
    """Groups of 40 records an hour with one reference of 210, and all of them together; and the first alarm of each by itself."""
    rng = np.random.default_rng(seed)
    length = before + after
    reference = rng.poisson(210, length)
    of_reference = rng.binomial(reference, 0.5)
    records = rng.poisson(40, (count, length))
    ratios = np.full((count, length), 0.95)
    ratios[:falling, before:] = to
    favourable = rng.binomial(records, 0.5 * ratios)
    sides = [*zip(favourable, records, strict=True)]
    if count > 1:
        sides.append((favourable.sum(axis=0), records.sum(axis=0)))
    together, months = ComparisonFamily(math.log(HOURS_OF_A_YEAR)), [hour // 720 for hour in range(length)]
    several = [
        begin_comparison(_hours(part, whole, of_reference, reference), BELOW, months, name=(str(place),))
        for place, (part, whole) in enumerate(sides)
    ]
    level = math.log(HOURS_OF_A_YEAR) + math.log(len(several))
    alone = [_find_alarm([block.unfair for block in blocks], level) for _, blocks in several[:count]]
    return follow_family(together, several, months, total=lambda _: len(several)), together, alone


def _find_alarm(logs: Sequence[Sequence[float]], level: float, since: int = 0) -> float:
    """Returns the first hour with an alarm from `since` on, infinity without one."""
    detector = Detector(5)
    for hour, of_hour in enumerate(logs):
        detector.add(of_hour)
        if hour >= since and detector.has_alarm(level):
            return hour
    return math.inf


def _reaches(logs: Sequence[Sequence[float]], level: float) -> bool:
    return math.isfinite(_find_alarm(logs, level))


def _await_alarm(ratios: list[float], seed: int, since: int = 0, *, persons: int = 300, records: int = 1, divisor: float = 1.0) -> float:
    """Returns the hours from `since` to an alarm of pairs, of which one in a hundred gains; infinity without one.

    An hour has so many new `persons` with so many equal `records` each.
    """
    gained, rng = 0.01, np.random.default_rng(seed)
    chances = np.array([[0.5 * ratio - gained, gained, 0.5 - 0.5 * ratio + gained, 0.5 - gained] for ratio in ratios])
    counts = records * np.vstack([rng.multinomial(persons, row) for row in chances]).astype(float)
    hours = PairedHours(np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0]), counts)
    return _find_alarm(weigh_pairs(hours, BELOW, divisor)[0].tolist(), math.log(HOURS_OF_A_YEAR), since) - since + 1


def _count_by_hour(hour: IntArray, monitored: BoolArray, favourable: BoolArray, hours: int) -> Hours:
    every = np.ones(hour.size, bool)
    counts = [np.bincount(hour[side & part], minlength=hours) for side in (monitored, ~monitored) for part in (favourable, every)]
    return _hours(*counts)


def _hours(*counts: npt.ArrayLike) -> Hours:
    monitored, of_monitored, reference, of_reference = (np.asarray(part, float) for part in counts)
    return Hours(SideHours(monitored, of_monitored), SideHours(reference, of_reference))


def _has_alarm(hours: Hours) -> bool:
    return bool(follow_months(hours).episodes)


def _limit(world: str, alarms: int, most: float = 1) -> Trial:
    return Trial(world, f"{alarms} runs with an alarm", f"at most {most:.0f}", alarms <= most)


WORLDS = (
    *(steady, traffic, unsteady, falls, pairs, intervals, fairness, persons),
    *(first_files, batches, groups, corrections, decade, oracle),
)

if __name__ == "__main__":
    run_worlds({world.__name__.replace("_", "-"): world for world in WORLDS}, __doc__, runs=30)
