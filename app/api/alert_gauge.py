"""A gauge of the alerts that are not over."""

from collections import Counter
from collections.abc import Sequence

from prometheus_client.core import GaugeMetricFamily

from ..domain.alerts import AlertState, RuleKind
from ..store.alerts.alerts import OpenAlerts

MOST_DEPLOYMENTS = 500

OTHERS = "(others)"
"""No id of a deployment looks like this."""

_STATES = {AlertState.OPEN: "unacknowledged", AlertState.ACKNOWLEDGED: "acknowledged"}


def alert_gauge(alerts: Sequence[OpenAlerts]) -> GaugeMetricFamily:
    """At most (`MOST_DEPLOYMENTS` + 1) × kinds of rules × two states; a deployment without an alert has none.

    The others always have series, even of 0, so that the name is never absent.
    """
    gauge = GaugeMetricFamily("evenhand_alerts", "Alerts that are not over.", labels=["deployment", "kind", "state"])
    totals = Counter[str]()
    for found in alerts:
        totals[found.deployment_id] += found.count
    own = set(sorted(totals, key=lambda deployment: (-totals[deployment], deployment))[:MOST_DEPLOYMENTS])
    series = Counter({(OTHERS, kind.value, state): 0 for kind in RuleKind for state in _STATES.values()})
    for found in alerts:
        name = found.deployment_id if found.deployment_id in own else OTHERS
        series[name, found.kind.value, _STATES[found.state]] += found.count
    for labels, count in series.items():
        gauge.add_metric(list(labels), count)
    return gauge
