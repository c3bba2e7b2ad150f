"""Which records of a window need a second look: their outcome would be another with a reference value."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy.orm import Session

from app.checks.grouping import Grouping
from app.checks.subject import Subject
from app.checks.window import PayloadWindow
from app.domain.checks import Trigger
from app.domain.mitigation import AttributeProfile, FlaggedRecord, Profile
from app.mitigation.deciding import Judge, favourable_score, mean_probability
from app.mitigation.treated import UNKNOWN, Treated, read_probability, reference_answers
from app.store.arrow import ArrowReader
from app.store.results import newest_success_before
from app.store.window import probabilities_of


@dataclass(frozen=True, slots=True)
class Flags:
    """What a check says of the records that it looked at for an attribute: the flags that hold now, in the place of earlier `kinds`.

    `groups` are the labels of the attribute's monitored groups.
    """

    attribute: str
    groups: Sequence[str]
    looked_at: Sequence[int]
    found: Sequence[FlaggedRecord]
    kinds: Sequence[str] = ("changed", "likely")


def monitored_labels(grouping: Grouping) -> list[str]:
    """The labels of the monitored groups."""
    return [group.label for group in grouping.groups if group.role == "monitored"]


def is_flagged_already(session: Session, subject: Subject, profile: Profile) -> bool:
    """Whether earlier checks flagged by this profile, so that only records whose copies are new need looking at.

    That holds from hour to hour. A range that somebody asked for, or the first window of a changed monitor, reaches back to records
    that were last looked at by another profile, or never, though their copies are there.
    """
    if subject.check.trigger is Trigger.RANGE:
        return False
    last = newest_success_before(session, subject.deployment.no, subject.check.span.end)
    if last is None or last.monitor_version != subject.monitor.version:
        return False
    return last.window.get("mitigation_profile_version") == profile.version


def flag_records(
    reader: ArrowReader,
    subject: Subject,
    window: PayloadWindow,
    found: Treated,
    learnt: tuple[AttributeProfile, Profile],
    *,
    only_new: bool,
) -> Flags:
    """The monitored records of the window whose outcome as reference is another, in whichever mode outcomes are mitigated."""
    attribute, profile = learnt
    looked_at = found.is_new() if only_new else np.ones(len(window), dtype=np.bool_)
    changed = looked_at & found.is_monitored() & (found.as_reference != UNKNOWN) & (found.as_reference != found.own)
    flags = _flags(reader, subject, window, found, (attribute, profile), changed=np.flatnonzero(changed))
    return Flags(attribute.feature, monitored_labels(found.grouping), window.record_nos()[looked_at].tolist(), list(flags))


def _flags(
    reader: ArrowReader,
    subject: Subject,
    window: PayloadWindow,
    found: Treated,
    learnt: tuple[AttributeProfile, Profile],
    *,
    changed: npt.NDArray[np.int64],
) -> Iterator[FlaggedRecord]:
    if not len(changed):
        return
    attribute, profile = learnt
    record_nos, times = window.record_nos(), window.rows["logged_at"]
    judge = Judge.of(subject.monitor.outcomes, profile)
    answers = reference_answers(found.copies, changed, attribute.shares(), judge)
    own = probabilities_of(reader, subject.deployment.no, window.reach(), record_nos[changed].tolist())
    for record in changed.tolist():
        no = int(record_nos[record])
        own_score = favourable_score(read_probability(own.get(no)), profile.reading)
        reference_score = favourable_score(mean_probability(answers.get(record, [])), profile.reading)
        yield FlaggedRecord(
            record_no=no,
            attribute=attribute.feature,
            logged_at=times[record].as_py(),
            model_revision=subject.deployment.model_revision,
            group=found.grouping.groups[found.grouping.codes[record]].label,
            kind="changed",
            direction="lifted" if found.as_reference[record] > found.own[record] else "lowered",
            own_score=own_score,
            reference_score=reference_score,
            gap=0.0 if own_score is None or reference_score is None else abs(reference_score - own_score),
        )
