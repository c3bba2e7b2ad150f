"""What sentences on checks, alerts and deployments may say: how many checks found what, which alerts there were, what to do next."""

import re

from app.checks.views.headlines import VERDICT_WORDS
from app.statistics.intervals.verdicts import ON_FAIRNESS, Verdict
from tests.worlds import figures
from tests.worlds.reading import Facts, says
from tests.worlds.world import ATTRIBUTE

_VERDICTS = "|".join(sorted({words.capitalize() for words in VERDICT_WORDS.values()}, key=len, reverse=True))
_SIDES = r"the (?:monitored group|reference) at a disadvantage in \d+"


@says(
    rf"(?P<verdict>Unfair|Suspected|Other side not watched|Undecided): {ATTRIBUTE} \(as logged\) in (?P<many>\d+) checks?"
    rf"(?:, (?P<sides>{_SIDES}(?: and {_SIDES})?))?\."
)
def verdicts_of_checks(match: re.Match[str], facts: Facts) -> None:
    """Every check of the world found the same: it is the same world."""
    assert int(match["many"]) == facts.checks > 0
    assert VERDICT_WORDS[facts.of.verdict].capitalize() == match["verdict"]
    value, (lower, upper) = figures.true_value(facts), figures.both_limits(facts)
    is_inside = not figures.is_below(value, lower) and not figures.is_above(value, upper)
    side = "monitored group" if figures.favoured_less(facts) == figures.names_of(facts)[0] else "reference"
    assert match["sides"] == (None if is_inside else f"the {side} at a disadvantage in {facts.checks}")


@says(r"Everything that was judged was fair\.")
def all_fair(_: re.Match[str], facts: Facts) -> None:
    """Something was judged, and all of it is inside."""
    assert facts.of.verdict == Verdict.FAIR


@says(rf"Never judged: (?P<what>{ATTRIBUTE} \([^)]+\)(?:; {ATTRIBUTE} \([^)]+\))*)\.")
def never_judged(match: re.Match[str], facts: Facts) -> None:
    """Copies need an endpoint, which worlds have not; as logged it says so only where nothing was judged."""
    is_judged = facts.of.verdict in ON_FAIRNESS
    assert ("as logged" in match["what"]) == (not is_judged)


@says(r"No check of this time measured the disparate impact of an attribute that the monitor watches now\.")
def none_measured(_: re.Match[str], facts: Facts) -> None:
    """There was no check with figures."""
    assert facts.checks == 0


@says(r"No check of this time succeeded\.")
def none_succeeded(_: re.Match[str], facts: Facts) -> None:
    """There was none."""
    assert facts.checks == 0


@says(rf"Verdicts of (?:this check|the newest check, which ended its span on [^.]+ UTC)\.(?P<verdicts>(?: (?:{_VERDICTS}): [^.]+\.)+)")
def verdicts_of_one(match: re.Match[str], facts: Facts) -> None:
    """The verdict on the headline as logged."""
    assert f" {VERDICT_WORDS[facts.of.verdict].capitalize()}: {ATTRIBUTE} (as logged" in match["verdicts"]


@says(r"Checks that ended: (?P<told>[^.]+)\.")
def checks_that_ended(match: re.Match[str], facts: Facts) -> None:
    """As many as there were."""
    succeeded = re.search(r"(\d+) succeeded", match["told"])
    assert (0 if succeeded is None else int(succeeded[1])) == facts.checks


@says(r"No alert was open in this time, and no check of it opened one\.")
def no_alert(_: re.Match[str], facts: Facts) -> None:
    """There was none."""
    assert facts.alerts == 0


@says(
    r"Alerts that were open in this time, or that a check of it opened: (?P<all>\d+), of them (?P<acknowledged>\d+) acknowledged and"
    r" (?P<resolved>\d+) resolved\."
)
def alerts_by_state(match: re.Match[str], facts: Facts) -> None:
    """The world's alerts are open: nobody has acted on them."""
    assert (int(match["all"]), int(match["acknowledged"]), int(match["resolved"])) == (facts.alerts, 0, 0)
    assert facts.alerts > 0


@says(r"The worker has not decided on the alerts of one check of this time yet\. Make the report again in a minute\.")
def alerts_to_come(_: re.Match[str], facts: Facts) -> None:
    """Nobody looked at the check yet."""
    assert facts.is_undecided


@says(
    r"No check has ended yet: no payload record was ever logged\.|Log payload records: what the model is asked and what it answers\."
    r"|Configure has code for it\."
)
def nothing_yet(_: re.Match[str], facts: Facts) -> None:
    """There was no check, and nothing to check."""
    assert facts.checks == 0


@says(r"Only one side is watched, and the figure lies beyond the mirror image of the limit on the other side\.")
def one_side(_: re.Match[str], facts: Facts) -> None:
    """The figure is inside the limit that is set, and beyond its mirror image."""
    lower, upper = facts.world.limits_of(facts.of.metric)
    mirrored = figures.both_limits(facts)
    value = figures.true_value(facts)
    assert None in (lower, upper)
    assert not figures.is_below(value, lower)
    assert figures.is_above(value, mirrored[1])


@says(r"Set the other limit, too; Configure has a button for it\.")
def watch_both(_: re.Match[str], facts: Facts) -> None:
    """There is a limit to set."""
    assert None in facts.world.limits_of(facts.of.metric)
