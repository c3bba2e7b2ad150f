"""A figure after its last hour: its evidence at each limit, and its one statement."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...base.values import frozen
from ..group_labels import FloatArray
from ..intervals.intervals import Ends
from ..intervals.rate_estimates import DIFFERENCE, RATIO, REVERSED_DIFFERENCE
from .confidence import stack_counts
from .expected_delays import EvidenceProgress
from .follow import Episode, Follower, find_blocks, find_evidence
from .nulls import Hours, Limit
from .onset import Onset
from .state_words import (
    EvidenceState,
    FigureFacts,
    FigureStatement,
    RatesCompared,
    describe_figure,
    judge_hour,
    say_more_records,
)

ExpectHours = Callable[[Limit, Hours, EvidenceProgress], int | None]
"""Hours until a decision at a limit, from the hours of the chapter; None if there is no estimate."""


@frozen(kw_only=True, eq=False)
class EndedHours:
    """Hours of a figure before the hour `end`, with a follower for each of `limits`.

    `counts` [4] and `ends` are of the interval since `chapter`. `recent` are the last hours, from the number
    `first` on; `paired` counts the records of the last one that are on both sides and favourable on both.
    `say` and `say_onset` write an hour and a start. `restarted` says what began the first chapter.
    """

    followers: Sequence[Follower]
    limits: Sequence[Limit]
    counts: FloatArray
    ends: Ends
    chapter: int
    recent: Hours
    first: int
    end: int
    say: Callable[[int], str]
    say_onset: Callable[[Onset], str]
    is_some_group: bool
    restarted: str | None = None
    closed_by: str | None = None
    corrected: int = 0
    paired: float | None = None

    @property
    def of_chapter(self) -> Hours:
        begin = max(self.first, *(follower.chapter for follower in self.followers))
        return self.recent.between(min(begin, self.end) - self.first, self.end - self.first)

    @property
    def open_episode(self) -> Episode | None:
        episodes = (follower.open_episode for follower in self.followers)
        return next((episode for episode in episodes if episode is not None), None)


def judge_evidence(hours: EndedHours, facts: FigureFacts) -> tuple[FigureFacts, list[EvidenceState]]:
    """Adds to the facts what decides the state; returns the evidence at each limit, too."""
    blocks = len(find_blocks(hours.of_chapter))
    part, whole, other_part, other_whole = sums = hours.counts.tolist()
    evidence = [
        find_evidence(
            follower,
            sums,
            end=hours.end,
            blocks=blocks,
            is_restarted=hours.restarted is not None,
            is_some_group=hours.is_some_group,
        )
        for follower in hours.followers
    ]
    lower, upper = hours.ends
    if facts.is_reversed:
        lower, upper = None if upper is None else -upper, None if lower is None else -lower
    compared = RatesCompared(
        monitored=(part, whole),
        reference=(other_part, other_whole),
        interval=(lower, upper),
        since=hours.say(hours.chapter),
    )
    comparison = RATIO
    if not facts.is_ratio:
        comparison = REVERSED_DIFFERENCE if facts.is_reversed else DIFFERENCE
    judged = judge_hour(
        _find_newest_counts(hours.recent),
        comparison,
        (facts.lower_limit, facts.upper_limit),
        both=hours.paired,
    )
    is_open = hours.open_episode is not None
    decided = replace(
        facts,
        evidence=next(state for state in EvidenceState if state in evidence),
        verdict=judged.verdict,
        reason=judged.reason,
        is_alert_open=is_open,
        hour=judged.compared,
        chapter=None if is_open else compared,
        onset=compared if is_open else None,
        corrected=hours.corrected,
    )
    return decided, evidence


def _find_newest_counts(hours: Hours) -> list[float] | None:
    """Counts of the newest hour with records; None if none has."""
    counts = stack_counts(hours)
    with_records = counts[counts[:, [1, 3]].any(1)]
    return with_records[-1].tolist() if len(with_records) else None


def tell_figure(
    hours: EndedHours, facts: FigureFacts, levels: Sequence[float], divisor: float, expect: ExpectHours
) -> tuple[FigureStatement, list[EvidenceState], list[int | None]]:
    """Writes the statement; returns the evidence at each limit and the hours until it is decided, too.

    `levels` are the thresholds of an alarm at each limit, as logarithms; `divisor` is that of ln E.
    """
    facts, evidence = judge_evidence(hours, facts)
    chapter = hours.of_chapter
    episode = hours.open_episode
    more_hours = [
        expect(
            limit,
            chapter,
            EvidenceProgress(level, max(follower.watching.log_best, 0.0), follower.log_fairness, divisor),
        )
        if episode is None and follower.proof.since is None and len(chapter)
        else None
        for limit, follower, level in zip(hours.limits, hours.followers, levels, strict=True)
    ]
    leading = evidence.index(facts.evidence)
    if episode is None:
        facts = _say_event(facts, hours, hours.followers[leading])
    else:
        facts = replace(facts, since=hours.say_onset(episode.since), event=hours.say(episode.alarm))
    needed = more_hours[leading]
    if needed is not None:
        records = float(chapter.monitored.records.sum() + chapter.reference.records.sum())
        # Paired records are on both sides.
        sides = 1 if hours.paired is None else 2
        facts = replace(facts, more=say_more_records(needed * records / sides / len(chapter)))
    return describe_figure(facts), evidence, more_hours


def _say_event(facts: FigureFacts, hours: EndedHours, leading: Follower) -> FigureFacts:
    last = leading.episodes[-1] if leading.episodes else None
    if facts.evidence is EvidenceState.CONFIRMED_FAIR and leading.proof.since is not None:
        return replace(facts, since=hours.say(leading.proof.since))
    if last is None:
        return replace(facts, event=hours.restarted or "")
    event = ""
    if last.closed is not None:
        event = f"{hours.say(last.closed)} by {hours.closed_by or 'somebody'}"
    elif last.fair_since is not None:
        event = hours.say(last.fair_since.hour)
    return replace(facts, since=hours.say_onset(last.since), event=event)
