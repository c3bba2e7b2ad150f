"""Declaration that each record is another person."""

from dataclasses import replace

from ...access.principals import Principal
from ...base.clock import utc_now
from ...domain.monitor import Monitor


def keep_declaration(monitor: Monitor, before: Monitor | None, principal: Principal) -> Monitor:
    """Monitor with the name and the day of the declaration, if it makes one; a repeated one keeps both."""
    settings = monitor.evidence
    by = None
    on = None
    if settings.each_record_another_person and before and before.evidence.each_record_another_person:
        by = before.evidence.declared_by
        on = before.evidence.declared_on
    elif settings.each_record_another_person:
        by = principal.actor
        on = utc_now().date().isoformat()
    return replace(monitor, evidence=replace(settings, declared_by=by, declared_on=on))
