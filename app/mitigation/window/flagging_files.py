"""Flags the records of a window that lies in files: no profile is kept for them."""

import numpy as np
import pyarrow as pa

from ...batch.flags import FLAGS
from ...checks.evidence import CheckEvidence
from ...checks.feedback import PROBABILITY
from ...checks.further import Further
from ...checks.subject import Subject
from ...clock import utc_now
from ...domain.mitigation import AttributeProfile, FlaggedRecord
from ..fitting import Goal, Payload, fit_to
from ..rule import Judge
from .flagging import describe_flags, find_changed
from .treated import treat_window

NOT_FITTED = "nothing was fitted for it"


def flag_records_in_files(subject: Subject, evidence: CheckEvidence) -> Further:
    """Returns the monitored records whose outcome would be another with a reference value, as a table to be written."""
    if not evidence.copies:
        return Further()
    window, mitigation = evidence.window, subject.mitigation
    goal = Goal(deployment=subject.deployment, monitor=subject.monitor, settings=mitigation, donors=subject.donors, basis="")
    profile = fit_to(goal, Payload.of(goal, window.rows, window.values()), now=utc_now())
    judge, everything = Judge.of(subject.monitor.outcomes, profile), np.ones(len(window), dtype=np.bool_)
    flags: list[FlaggedRecord] = []
    positions: list[int] = []
    counts: dict[str, int] = {}
    for copies in evidence.copies:
        name = copies.grouping.column.name
        fitted = profile.attribute(name) or AttributeProfile(name, (), 0.0, NOT_FITTED)
        treated = treat_window(copies, evidence.outcomes, fitted, judge, mitigation.mode)
        changed = find_changed(treated, everything)
        own = window.rows[PROBABILITY].take(pa.array(changed)).to_pylist()
        flags += describe_flags(subject, window, treated, changed, own)
        positions += changed.tolist()
        counts[name] = len(changed)
    return Further(details={"flagged_records": counts}, flagged=_to_table(subject, evidence, flags, positions))


def _to_table(subject: Subject, evidence: CheckEvidence, flags: list[FlaggedRecord], positions: list[int]) -> pa.Table:
    columns = {name: [getattr(one, name, None) for one in flags] for name in FLAGS.names}
    columns["record_id"] = evidence.window.rows["record_id"].take(pa.array(positions, pa.int64())).to_pylist()
    columns["scored_at"] = [one.logged_at for one in flags]
    columns["gap"] = [None if one.own_score is None or one.reference_score is None else one.gap for one in flags]
    columns["check_id"] = [subject.check.id] * len(flags)
    order = [("gap", "descending"), ("record_id", "ascending"), ("attribute", "ascending")]
    return pa.table(columns, FLAGS).sort_by(order)
