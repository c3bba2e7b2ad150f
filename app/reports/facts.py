"""Facts next to the figures: what is judged and how, cautions, origin."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime

from ..domain.group_words import GroupWords
from ..domain.monitors import MonitoredAttribute
from ..domain.outcomes import outcome_label
from ..domain.values import GroupValue, label_of
from ..metrics.statements import limits_in_words
from .configuration import CHANGED, versions
from .document import Fact
from .numbers import moment
from .source import ReportSource

MOST_NAMES = 5
"""Max names in a list of the first page."""


def first_of(names: Iterable[str], most: int = MOST_NAMES) -> str:
    known = list(names)
    left = len(known) - most
    return ", ".join(known[:most]) + (f" and {left:,} more" if left > 0 else "") if known else "none"


def list_cautions(source: ReportSource) -> Iterator[str]:
    check, monitor = source.check, source.monitor
    if source.carried is not None:
        yield source.carried
    if monitor is None:
        yield "The deployment has no fairness monitor now, so its configuration cannot be shown."
    elif check is not None and check.monitor_version not in (None, monitor.version):
        yield CHANGED.format(then=check.monitor_version, now=monitor.version)


def list_facts(source: ReportSource) -> Iterator[Fact]:
    deployment, check, monitor = source.deployment, source.check, source.monitor
    revision = deployment.model_revision if check is None or check.model_revision is None else check.model_revision
    yield Fact(name="Model", value=f"{deployment.id}, revision {revision}")
    window = {} if check is None or check.window is None else check.window
    if "records" in window:
        more = f" and {window['additional_records']:,} of earlier hours" if window.get("additional_records") else ""
        yield Fact(name="Population", value=f"{window['records']:,} logged records of the check's span{more}")
    if check is not None:
        yield Fact(name="Check", value=f"{check.id}, of {moment(check.span.start)} to {moment(check.span.end)}")
    if not source.is_of_check:
        states = Counter(run.state for run in source.runs)
        counts = ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in sorted(states.items()))
        yield Fact(name="Checks that ended", value=counts or "none")
    if monitor is not None:
        words = GroupWords.of(monitor)
        listed = window.get("favourable")
        outcomes = map(str, listed) if isinstance(listed, list) else map(outcome_label, monitor.outcomes.favourable)
        yield Fact(name="Favourable outcome", value=first_of(outcomes))
        compared = [
            f"{one.feature}: {first_of(_name_groups(one, one.monitored, words), 3)} with "
            f"{'every other value' if one.reference is None else first_of(_name_groups(one, one.reference, words), 3)}, "
            f"fair at {limits_in_words((one.threshold, one.upper_threshold))}"
            for one in monitor.attributes[:3]
        ]
        left = len(monitor.attributes) - len(compared)
        yield Fact(name="Compared", value="; ".join(compared) + (f"; and {left} more" if left else ""))
        yield Fact(name="Monitor", value=f"version {monitor.version}")


def _name_groups(attribute: MonitoredAttribute, values: Iterable[GroupValue], words: GroupWords) -> Iterator[str]:
    for label in map(label_of, values):
        name = words.label(attribute.feature, label)
        yield name if name == label else f"{name} ({label})"


def list_origin(source: ReportSource, digest: str) -> Iterator[Fact]:
    yield Fact(name="Software", value=versions())
    yield Fact(name="SHA-256 of the data", value=digest)
    base = f"/v1/deployments/{source.deployment.id}"
    data = f"{base}/report.json?since={_query(source.span.start)}&until={_query(source.span.end)}"
    if source.is_of_check and source.check is not None:
        data = f"{base}/checks/{source.check.id}/report.json"
    yield Fact(name="The data", value=f"data.json, attached to the PDF; or GET {data}")
    if source.check is not None:
        yield Fact(
            name="Every figure, its formula and counts",
            value=f"trace.csv, attached to the PDF; or GET {base}/checks/{source.check.id}/trace.csv",
        )


def _query(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
