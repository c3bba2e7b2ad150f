"""What sentences on figures may say: the figure itself, who is at a disadvantage, whether there is a gap, whether it is beyond a limit.

The truth is computed here anew, from the outcomes of the world and not from the measurement: a share is counted, "favoured less" is
decided by shares whatever sign or order a metric has, and the p-value is that of the textbook.
"""

import math
import re

from scipy.stats import fisher_exact

from app.domain.check import DataSet
from tests.worlds.reading import END, HUNDRED, NAME, NUMBER, Facts, is_hundred, is_shown_as, says, write_limit
from tests.worlds.truths import (
    FEWEST,
    OTHER_WAY_ROUND,
    RATES,
    ROUNDING,
    both_limits,
    both_odds,
    favoured_less,
    favoured_of_deserving,
    favoured_of_others,
    is_above,
    is_below,
    is_ratio,
    names_of,
    true_value,
    truth,
)
from tests.worlds.world import GroupTruth

_SHARES = (
    rf"Of every 100 (?P<among>[^;]*?) of (?P<m>{NAME})(?: with an? (?:un)?favourable label)?, (?P<a>{HUNDRED}) [^;]+;"
    rf" of every 100 of (?P<r>{NAME}), (?P<b>{HUNDRED}):"
)
SMALL = rf"(?:{END}|−?less than {NUMBER})"


@says(rf"{_SHARES} a ratio of (?P<v>{NUMBER}) \(95 %: (?P<l>{END}) to (?P<u>{END})\)\.")
def a_ratio(match: re.Match[str], facts: Facts) -> None:
    """Both shares, the ratio and its interval."""
    _shares(match, facts)
    assert is_shown_as(truth(facts, match["m"], match["r"]), match["v"])
    assert is_shown_as(facts.of.lower, match["l"])
    assert is_shown_as(facts.of.upper, match["u"])


@says(_SHARES + r" (?P<v>[^()]+?) \(95 %: (?P<l>.+?) to (?P<u>.+?)\)\.")
def a_difference(match: re.Match[str], facts: Facts) -> None:
    """Both shares, and how many percentage points the first has more or less."""
    _shares(match, facts)
    one, other = (_countedshare_of(facts, match[side]) for side in ("m", "r"))
    # With two digits the gap is that of the rates as they are shown: one digit did not agree with both of them.
    has_two_digits = re.match(r"\d+\.\d\d ", match["v"]) is not None
    assert _is_points(round(one, 4) - round(other, 4) if has_two_digits else one - other, match["v"])


@says(
    rf"Of records with equal labels, (?P<m>{NAME}) is favoured (?P<v>{HUNDRED}) percentage points (?P<way>less|more) often than"
    rf" (?P<r>{NAME}), on average \(value (?P<value>{SMALL}), 95 %: {SMALL} to {SMALL}\)\."
)
def average_odds(match: re.Match[str], facts: Facts) -> None:
    """Who is favoured less at equal merits, on average."""
    value = truth(facts, match["m"], match["r"])
    if abs(value) < ROUNDING:  # what rounding leaves of nothing has a sign
        return
    assert match["way"] == ("less" if value < 0 else "more")
    assert is_shown_as(value, match["value"])


@says(rf"By this figure (?P<m>{NAME}) and (?P<r>{NAME}) are equal \(value 0(?:\.0+)?, 95 %: {SMALL} to {SMALL}\)\.")
def equal_sides(match: re.Match[str], facts: Facts) -> None:
    """Both sides are alike."""
    assert abs(truth(facts, match["m"], match["r"])) < ROUNDING


@says(r"[A-Z][^.:;]*(?:\([^)]*\))? cannot be computed: (?P<why>[^.]+)\.")
def cannot_be_computed(match: re.Match[str], facts: Facts) -> None:
    """There is nobody on a side, or nothing to divide by; worlds have no model that could be asked about copies."""
    assert match["why"] == facts.of.reason
    if facts.of.data is DataSet.COUNTERFACTUAL:
        assert "endpoint" in match["why"]
        return
    monitored, reference = (facts.world.sides.get(str(facts.of.details.to_json().get(side))) for side in ("monitored", "reference"))
    rates = [None if side is None else RATES[facts.of.metric](side) for side in (monitored, reference)]
    assert None in rates or (rates[1] == 0 and is_ratio(facts.of.metric))


@says(r"Caution: it [^:]+: the interval may not hold what it promises\.")
def caution(_: re.Match[str], facts: Facts) -> None:
    """A side has few records, or few of a kind."""
    sides = [facts.world.sides[name] for name in names_of(facts)]
    fewest = min(min(side.records, side.favourable, side.records - side.favourable, side.tn, side.fp, side.fn, side.tp) for side in sides)
    assert fewest < FEWEST


@says(
    rf"(?P<r>{NAME})(?P<role> \(reference\))? gets the favourable outcome (?:(?P<percent>\d+) % less often than|about as often as)"
    rf" (?P<m>{NAME}): a ratio of (?P<v>{NUMBER}) \(95 %: (?P<l>{NUMBER}) (?:and more|to (?P<u>{NUMBER}))\)\."
)
def the_other_side(match: re.Match[str], facts: Facts) -> None:
    """The reference gets less than its limits allow, by so much."""
    assert (match["m"], match["r"]) == names_of(facts)
    assert favoured_less(facts) == match["r"]
    assert is_shown_as(1 / true_value(facts), match["v"])
    assert float(match["v"]) < 1
    assert int(match["percent"] or 0) == round(100 - 100 / true_value(facts))
    assert is_above(true_value(facts), both_limits(facts)[1])
    low, high = facts.of.lower, facts.of.upper
    assert is_shown_as(0.0 if high is None else 1 / high, match["l"])
    assert match["u"] is None if not low else is_shown_as(1 / low, match["u"])
    assert (match["role"] is None) == (facts.of.scope == "worst_pair")


@says(rf"At a disadvantage(?P<chance>, unless it is chance)?: (?P<r>{NAME})(?: \(reference\))?\.")
def at_a_disadvantage(match: re.Match[str], facts: Facts) -> None:
    """The reference is favoured less, and beyond a limit or its mirror image."""
    assert match["r"] == names_of(facts)[1] == favoured_less(facts)
    lower, upper = both_limits(facts)
    assert is_below(true_value(facts), lower) or is_above(true_value(facts), upper)
    assert (match["chance"] is None) == _excludes_equality(facts)


@says(r"There is no gap in these records\.")
def no_gap(_: re.Match[str], facts: Facts) -> None:
    """Both sides are alike."""
    assert true_value(facts) == _equal(facts)


P_VALUES = r"(?P<p>p [<=] [\d.]+)(?: for all groups together, (?P<alone>p [<=] [\d.]+) alone)?"
TOGETHER = r"(?P<together> for all groups together)?"


@says(rf"The gap (?P<what>is larger than chance explains|may be chance) \({P_VALUES}\)\.")
def gap_by_p_value(match: re.Match[str], facts: Facts) -> None:
    """The p-value is that of the textbook and says so, and the interval agrees."""
    p_value = _p_value_for_choice(match, facts)
    is_gap = match["what"] != "may be chance"
    assert is_gap == (p_value < 0.05) == _excludes_equality(facts)


@says(
    rf"The gap (?P<what>is larger than chance explains|may be chance): the 95 % interval{TOGETHER} (?P<held>excludes|includes)"
    r" (?P<equal>[01])\."
)
def gap_by_interval(match: re.Match[str], facts: Facts) -> None:
    """There is no p-value, and the interval says so."""
    assert facts.of.details.p_value is None
    assert (match["together"] is not None) == (_chosen_from(facts) > 1)
    assert float(match["equal"]) == _equal(facts)
    assert (match["held"] == "excludes") == _excludes_equality(facts) == (match["what"] != "may be chance")


@says(
    rf"Whether the gap is chance is a close call: {P_VALUES} (?P<speaks>leaves room for chance|speaks against it), but the 95 %"
    rf" interval{TOGETHER} (?P<held>excludes|includes) (?P<equal>[01])\."
)
def close_call(match: re.Match[str], facts: Facts) -> None:
    """P-value and interval disagree."""
    p_value = _p_value_for_choice(match, facts)
    assert (match["held"] == "excludes") == _excludes_equality(facts) == (p_value >= 0.05) == (match["speaks"] == "leaves room for chance")


@says(
    r"It is inside (?P<name>the limits|the limit|the one limit that is set) \((?P<limits>[^)]+)\)"
    r"(?P<more>, and so is its whole interval|, but its interval (?P<ends>.+?), so a value beyond (?P<which>[^.]+?(?:\.\d+)?)"
    r" is not ruled out)?\."
)
def inside(match: re.Match[str], facts: Facts) -> None:
    """The truth is inside the limits that are set, and their mirror; the interval as it is said."""
    value, (lower, upper) = true_value(facts), facts.world.limits_of(facts.of.metric)
    assert match["limits"] == _range(lower, upper)
    mirrored = both_limits(facts)
    assert not is_below(value, mirrored[0])
    assert not is_above(value, mirrored[1])
    assert match["name"] == ("the one limit that is set" if None in (lower, upper) else "the limits")
    below = lower is not None and (facts.of.lower is None or is_below(facts.of.lower, lower))
    above = upper is not None and (facts.of.upper is None or is_above(facts.of.upper, upper))
    assert (match["ends"] is not None) == (below or above)
    if match["ends"] is not None:
        said = [end for end, is_out in ((facts.of.lower, below), (facts.of.upper, above)) if is_out]
        _ends(match["ends"], said)
        limit = lower if below else upper
        assert match["which"] == ("either limit" if below and above else f"the limit of {write_limit(limit)}")


@says(
    rf"Whether it is beyond the limit of (?P<limit>{NUMBER}) is not certain: its interval"
    rf"(?P<choice>, which allows for the choice among several groups,)? (?P<end>reaches {NUMBER}|has no \w+ end)\."
)
def not_certain(match: re.Match[str], facts: Facts) -> None:
    """The truth is outside the limit, and the interval reaches inside: of several groups the one for all of them."""
    chosen = facts.of.chosen_lower, facts.of.chosen_upper
    assert bool(match["choice"]) == (chosen != (None, None))
    value, (lower, upper) = true_value(facts), facts.world.limits_of(facts.of.metric)
    is_low = is_below(value, lower)
    assert is_low or is_above(value, upper)
    low, high = chosen if match["choice"] else (facts.of.lower, facts.of.upper)
    limit, end = (lower, high) if is_low else (upper, low)
    assert is_shown_as(limit, match["limit"]) or write_limit(limit) == match["limit"]
    assert end is None or not (is_below(end, limit) if is_low else is_above(end, limit))
    _ends(match["end"], [end])


@says(rf"It is beyond the limit of (?P<limit>{NUMBER})(?: \(at (?P<at>{NUMBER})\))?(?P<whole>, and so is its whole interval)?\.")
def beyond(match: re.Match[str], facts: Facts) -> None:
    """The truth is outside the limit, and so is the interval, of several groups the one for all of them."""
    value, (lower, upper) = true_value(facts), facts.world.limits_of(facts.of.metric)
    is_low = is_below(value, lower)
    assert is_low or is_above(value, upper)
    chosen = facts.of.chosen_lower, facts.of.chosen_upper
    for low, high in ((facts.of.lower, facts.of.upper), chosen) if chosen != (None, None) else ((facts.of.lower, facts.of.upper),):
        limit, end = (lower, high) if is_low else (upper, low)
        assert write_limit(limit) == match["limit"]
        assert end is not None
        assert is_below(end, limit) if is_low else is_above(end, limit)
    assert match["at"] is None or is_shown_as(value, match["at"])


@says(
    rf"It is inside the one limit that is set \((?P<limits>[^)]+)\), but beyond its mirror image, (?P<mirror>{NUMBER})"
    rf"(?: \(at (?P<at>{NUMBER})\))?: no limit is set on that side\. Its (?P<whole>whole )?interval"
    rf" (?P<end>is beyond that, too|reaches {NUMBER}|has no \w+ end)\."
)
def unwatched(match: re.Match[str], facts: Facts) -> None:
    """Only one limit is set; the truth is inside it, and beyond its mirror image."""
    value, (lower, upper), mirrored = true_value(facts), facts.world.limits_of(facts.of.metric), both_limits(facts)
    assert (lower is None) != (upper is None)
    assert not is_below(value, lower)
    assert not is_above(value, upper)
    limit, is_low = (mirrored[0], True) if lower is None else (mirrored[1], False)
    assert is_below(value, limit) if is_low else is_above(value, limit)
    assert match["limits"] == _range(lower, upper)
    assert match["mirror"] == write_limit(limit)
    end = facts.of.upper if is_low else facts.of.lower
    is_whole = end is not None and (is_below(end, limit) if is_low else is_above(end, limit))
    assert (match["whole"] is not None) == is_whole
    if not is_whole:
        _ends(match["end"], [end])


@says(r"No verdict: a group that is compared has fewer than 10 records\.")
def too_few(_: re.Match[str], facts: Facts) -> None:
    """A side has so few records of the kind that is counted."""
    wholes = [_whole(facts.of.metric, facts.world.sides[name]) for name in names_of(facts)]
    assert min(wholes) < FEWEST


@says(r"No verdict: the figure cannot be computed\.")
def no_number(_: re.Match[str], facts: Facts) -> None:
    """There is no value."""
    assert facts.of.value is None


@says(
    r"Of (?P<many>\d+) monitored groups it lies (?P<place>furthest beyond its limits|furthest beyond the mirror image of the limit|"
    r"nearest to a limit); groups of fewer than 10 records count only if there are no larger ones"
    rf"\. Allowing for the choice, its interval is {SMALL} to (?:{SMALL}|open)\."
)
def choice(match: re.Match[str], facts: Facts) -> None:
    """No other group of enough records lies further out."""
    reference = names_of(facts)[1]
    large = _list_large(facts)
    assert int(match["many"]) == len(large)
    mine = _outness(facts, true_value(facts))
    assert all(_outness(facts, truth(facts, name, reference)) <= (mine[0], mine[1] + ROUNDING) for name in large)
    assert (match["place"] == "furthest beyond its limits") == mine[0]
    assert (match["place"] == "nearest to a limit") == (not mine[0] and mine[1] <= ROUNDING)


@says(r"It is one of (?P<many>\d+) monitored groups, all of them with too few records\.")
def choice_of_few(match: re.Match[str], facts: Facts) -> None:
    """There was no group of enough records, or the reference has too few."""
    reference = facts.world.sides[names_of(facts)[1]]
    assert not _list_large(facts) or _whole(facts.of.metric, reference) < FEWEST
    assert int(match["many"]) > 1


@says(rf"(?P<how>Fair|Watched) (?P<range>from {NUMBER} to {NUMBER}|from {NUMBER} up|up to {NUMBER})(?P<only> only)?\.")
def limits(match: re.Match[str], facts: Facts) -> None:
    """The limits of the world, and whether they are on one side only."""
    lower, upper = facts.world.limits_of(facts.of.metric)
    given = (
        f"from {write_limit(lower)} to {write_limit(upper)}"
        if None not in (lower, upper)
        else f"from {write_limit(lower)} up"
        if upper is None
        else f"up to {write_limit(upper)}"
    )
    assert match["range"] == given
    assert (match["how"] == "Watched") == (match["only"] is not None) == (None in (lower, upper))


def _shares(match: re.Match[str], facts: Facts) -> None:
    assert (match["m"], match["r"]) == names_of(facts)
    assert is_hundred(_countedshare_of(facts, match["m"]), match["a"])
    assert is_hundred(_countedshare_of(facts, match["r"]), match["b"])


def _countedshare_of(facts: Facts, name: str) -> float:
    """The share that the sentence counts: of some metrics that of those who are not favoured."""
    share = RATES[facts.of.metric](facts.world.sides[name])
    assert share is not None
    return 1 - share if facts.of.metric in OTHER_WAY_ROUND else share


def _is_points(difference: float, text: str) -> bool:
    if text == "no difference":
        return abs(difference) < 1e-12
    match = re.fullmatch(r"(fewer than 0\.1|[\d.]+) percentage points (less|more)", text)
    assert match is not None, text
    size = abs(difference) < 0.0005 if match[1].startswith("fewer") else is_shown_as(100 * abs(difference), match[1])
    return size and (match[2] == "less") == (difference < 0)


def _ends(text: str, ends: list[float | None]) -> None:
    """The ends of an interval as a sentence has them: `reaches 0.74 and has no upper end`."""
    parts = text.split(" and ")
    assert len(parts) == len(ends)
    for part, end in zip(parts, ends, strict=True):
        if end is None:
            assert part in {"has no upper end", "has no lower end"}
        else:
            assert is_shown_as(end, part.removeprefix("reaches "))


def _range(lower: float | None, upper: float | None) -> str:
    if lower is None or upper is None:
        return f"{write_limit(lower)} and more" if upper is None else f"up to {write_limit(upper)}"
    return f"{write_limit(lower)} to {write_limit(upper)}"


def _equal(facts: Facts) -> float:
    return 1.0 if is_ratio(facts.of.metric) else 0.0


def _excludes_equality(facts: Facts) -> bool:
    chosen, equal = (facts.of.chosen_lower, facts.of.chosen_upper), _equal(facts)
    low, high = (facts.of.lower, facts.of.upper) if chosen == (None, None) else chosen
    return (low is not None and low > equal) or (high is not None and high < equal)


def _whole(metric: str, group: GroupTruth) -> int:
    """The fewest records that a share of the metric is taken of."""
    share = RATES[metric]
    if share is favoured_of_deserving:
        return group.tp + group.fn
    if share is favoured_of_others:
        return group.fp + group.tn
    return min(group.tp + group.fn, group.fp + group.tn) if share is both_odds else group.records


def _p_value(facts: Facts) -> float:
    """Of two shares: Fisher's exact test where an expected count is below 5, else the z test with the pooled share."""
    one, other = (facts.world.sides[name] for name in names_of(facts))
    counts = [(side.favourable, side.records) for side in (one, other)]
    pooled = sum(part for part, _ in counts) / sum(whole for _, whole in counts)
    if min(whole for _, whole in counts) * min(pooled, 1 - pooled) < 5:
        found = float(fisher_exact([[part, whole - part] for part, whole in counts]).pvalue)
    else:
        error = math.sqrt(pooled * (1 - pooled) * sum(1 / whole for _, whole in counts))
        found = math.erfc(abs(counts[0][0] / counts[0][1] - counts[1][0] / counts[1][1]) / error / math.sqrt(2))
    groups = sum(group.records >= FEWEST for group in facts.world.groups)
    return min(1.0, found * math.comb(groups, 2)) if facts.of.scope == "worst_pair" and groups > 1 else found


def _list_large(facts: Facts) -> list[str]:
    """Monitored groups that have enough records to be chosen."""
    monitored = [group for group in facts.world.groups if group.role == "monitored"]
    return [group.name for group in monitored if _whole(facts.of.metric, group) >= FEWEST]


def _chosen_from(facts: Facts) -> int:
    return len(_list_large(facts)) if facts.of.scope == "group" else 1


def _p_value_for_choice(match: re.Match[str], facts: Facts) -> float:
    """The p-value of all groups together, where there are several; both are as in the sentence."""
    alone, many = _p_value(facts), _chosen_from(facts)
    assert (match["alone"] is not None) == (many > 1)
    assert match["alone"] is None or _is_p(alone, match["alone"])
    p_value = min(1.0, many * alone)
    assert _is_p(p_value, match["p"])
    return p_value


def _is_p(p_value: float, text: str) -> bool:
    sign, _, shown = text.removeprefix("p ").partition(" ")
    return p_value < float(shown) if sign == "<" else is_shown_as(p_value, shown) and (float(shown) < 0.05) == (p_value < 0.05)


def _outness(facts: Facts, value: float) -> tuple[bool, float]:
    """Whether a value is beyond a limit that is set, and how far beyond those, or else beyond any of them and their mirror."""
    given = facts.world.limits_of(facts.of.metric)
    is_out = is_below(value, given[0]) or is_above(value, given[1])
    lower, upper = given if is_out else both_limits(facts)

    def scaled(one: float) -> float:
        return one if not is_ratio(facts.of.metric) else math.log(one) if one > 0 else -math.inf

    far = [scaled(value) - scaled(upper)] if upper is not None else []
    far += [scaled(lower) - scaled(value)] if lower is not None else []
    return is_out, max(far)
