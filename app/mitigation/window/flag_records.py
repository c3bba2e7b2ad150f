"""Flags records that need a second look: their outcome would be another with a reference value."""

from collections.abc import Sequence

import numpy as np

from ...base.frozen import frozen
from ...checks.subject import Subject
from ...checks.window.window import PayloadWindow
from ...database.engine import ArrowReader
from ...domain.check import Trigger
from ...domain.mitigation import FlaggedRecord, Profile
from ...sources.stored.window_queries import read_record_probabilities
from ...statistics.group_labels import IntArray
from ..rule import UNKNOWN, BoolArray, known_scores, mean_probabilities, write_probabilities
from .treated_window import TreatedWindow, read_reference_answers


@frozen
class Flags:
    """A check's flags among the records that it examined for an attribute: they replace earlier `kinds`.

    `groups` are the labels of the attribute's monitored groups.
    """

    attribute: str
    groups: Sequence[str]
    examined: Sequence[int]
    found: Sequence[FlaggedRecord]
    kinds: Sequence[str] = ("changed", "likely")


def is_flagged_already(subject: Subject, profile: Profile) -> bool:
    """Returns whether earlier checks flagged by this profile, so that only records with new copies need
    examining.

    Not so for a requested range, or the first window of a changed monitor.
    """
    last = subject.last
    if (
        subject.check.trigger is Trigger.RANGE
        or last is None
        or last.monitor_version != subject.monitor.version
    ):
        return False
    return last.window.get("mitigation_profile_version") == profile.version


def flag_records(
    reader: ArrowReader, subject: Subject, window: PayloadWindow, treated: TreatedWindow, *, only_new: bool
) -> Flags:
    """Returns the monitored records of the window whose outcome as reference is another, whatever the
    mode.
    """
    examined = treated.is_new() if only_new else np.ones(len(window), dtype=np.bool_)
    changed = find_changed(treated, examined)
    nos = window.record_nos()[changed].tolist()
    probabilities = (
        read_record_probabilities(reader, subject.deployment.no, window.reach(), nos) if nos else {}
    )
    flags = describe_flags(subject, window, treated, changed, [probabilities.get(no) for no in nos])
    return Flags(
        treated.profile.feature, treated.monitored_labels, window.record_nos()[examined].tolist(), flags
    )


def find_changed(treated: TreatedWindow, examined: BoolArray) -> IntArray:
    is_other = (treated.as_reference != UNKNOWN) & (treated.as_reference != treated.own)
    return np.flatnonzero(examined & treated.is_monitored() & is_other)


def describe_flags(
    subject: Subject,
    window: PayloadWindow,
    treated: TreatedWindow,
    changed: IntArray,
    probabilities: Sequence[str | None],
) -> list[FlaggedRecord]:
    if not len(changed):
        return []
    times, reading = window.rows["logged_at"], treated.judge.reading
    means = mean_probabilities(
        read_reference_answers(treated.copies, treated.profile, treated.judge, changed), len(window)
    )
    own_scores = known_scores(probabilities, reading)
    reference_scores = known_scores(
        write_probabilities([means[record] for record in changed.tolist()]), reading
    )
    nos = window.record_nos()[changed].tolist()
    return [
        FlaggedRecord(
            record_no=no,
            attribute=treated.profile.feature,
            logged_at=times[record].as_py(),
            model_revision=subject.deployment.model_revision,
            group=treated.grouping.groups[treated.grouping.codes[record]].label,
            kind="changed",
            direction="lifted" if treated.as_reference[record] > treated.own[record] else "lowered",
            own_score=own_score,
            reference_score=reference_score,
            gap=0.0 if own_score is None or reference_score is None else abs(reference_score - own_score),
        )
        for no, record, own_score, reference_score in zip(
            nos, changed.tolist(), own_scores, reference_scores, strict=True
        )
    ]
