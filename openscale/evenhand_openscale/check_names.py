"""Names of groups and outcomes as a script wrote them, as they were when a check measured them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..domain.checks import CheckRun, Scope
from ..domain.monitors import Monitor, MonitoredAttribute
from ..domain.values import label_of
from .fairness import listed
from .figures import Figures

ALL_OTHERS = "all others"
"""Name of a reference that is every value not monitored."""


@dataclass(frozen=True, slots=True)
class CheckNames:
    """The names of one check. `monitor` is that of its version; None if it was changed since, which leaves the labels that were stored."""

    monitor: Monitor | None
    window: Mapping[str, Any]
    figures: Figures

    @classmethod
    def of(cls, check: CheckRun, monitor: Monitor | None, figures: Figures) -> "CheckNames":
        """Returns the names of a check; `monitor` is the present one."""
        is_same = monitor is not None and monitor.version == check.monitor_version
        return cls(monitor if is_same else None, check.window or {}, figures)

    def outcomes(self, *, favourable: bool) -> list[Any]:
        """Returns the favourable outcomes, or the others: classes and ranges, or their labels."""
        if self.monitor is None:
            return list(self.window.get("favourable" if favourable else "unfavourable") or ())
        return listed(self.monitor.outcomes.favourable if favourable else self.monitor.outcomes.unfavourable)

    def outcome(self, *, favourable: bool) -> Any:  # noqa: ANN401 - a class, a range, or a text
        """Returns the one outcome of that side, or the labels of several."""
        found = self.outcomes(favourable=favourable)
        if len(found) == 1:
            return found[0]
        if self.monitor is not None:
            outcomes = self.monitor.outcomes.favourable if favourable else self.monitor.outcomes.unfavourable
            found = [label_of(value) for value in outcomes]
        return ", ".join(found) or ("favourable" if favourable else "unfavourable")

    def group(self, attribute: str, group: str) -> Any:  # noqa: ANN401 - a value or a range
        """Returns the monitored group of that label."""
        member = self._member(attribute)
        found = [value for value in (member.monitored if member else ()) if label_of(value) == group]
        return listed(found)[0] if found else group

    def reference(self, attribute: str) -> Any:  # noqa: ANN401 - a value, a range, or a text
        """Returns the one reference value of an attribute, or the labels of several."""
        member = self._member(attribute)
        if member is None:
            stored = (one.details.reference for key, one in self.figures.items() if (key.attribute, key.scope) == (attribute, Scope.GROUP))
            return next(filter(None, stored), ALL_OTHERS)
        if member.reference is None:
            return ALL_OTHERS
        return listed(member.reference)[0] if len(member.reference) == 1 else ", ".join(label_of(value) for value in member.reference)

    def _member(self, attribute: str) -> MonitoredAttribute | None:
        return None if self.monitor is None else next((one for one in self.monitor.attributes if one.feature == attribute), None)
