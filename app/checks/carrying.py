"""When nothing was logged since the last check, its values stay: they are carried forward and marked so."""

from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from app.checks.subject import Subject
from app.checks.window_details import described_setting
from app.domain.checks import Measurement, Trigger
from app.store.results import logged_between, measurements_of, newest_success_before


@dataclass(frozen=True, slots=True)
class Carried:
    """The measurements of an earlier check at a later time, and the window they were measured on."""

    window: dict[str, object]
    measurements: tuple[Measurement, ...]


def carried_forward(session: Session, subject: Subject) -> Carried | None:
    """What the last check found, if it still holds; None where the check has to look for itself.

    A check of a range that somebody asked for always looks for itself, and so does the first one after the monitor, the
    model's revision, the schema, or the presence of an endpoint changed.
    """
    check, deployment = subject.check, subject.deployment
    if check.trigger is Trigger.RANGE:
        return None
    last = newest_success_before(session, deployment.no, check.span.end)
    if last is None or (last.monitor_version, last.model_revision) != (subject.monitor.version, deployment.model_revision):
        return None
    if any(last.window.get(name) != now for name, now in described_setting(subject).items()):
        return None
    if logged_between(session, deployment.no, min(last.span_end, check.span.start), check.span.end):
        return None
    kept = {key: value for key, value in last.window.items() if key != "carried_from"}
    window = {**kept, "records": 0, "logged_in_span": 0, "carried_from": last.window.get("carried_from", last.id)}
    return Carried(window, tuple(replace(m, at=subject.at, carried_forward=True) for m in measurements_of(session, last.no)))
