"""What a check could not measure at all, said as a measurement without a number for each headline that is missing."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.checks.evidence import Evidence
from app.checks.labelled import Labelled
from app.checks.picking import picked_on
from app.checks.subject import Subject
from app.checks.tabulation import data_measured_on
from app.domain.checks import DataSet
from app.domain.texts import TOGETHER
from app.metrics.catalogue import Metric
from app.metrics.values import Measured, Scope, Undefined

NO_ENDPOINT = "the deployment has no endpoint, so copies of its records cannot be scored"
NO_LABELS = "no labelled record is there"
UNSCORED_LABELS = "the labelled records have no prediction, and the deployment has no endpoint to ask for one"

_HEADLINES: tuple[Scope, ...] = ("worst", "attribute", "pooled")


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """A data set of an attribute (None: of everybody) that could not be measured at all, and why."""

    data: DataSet
    attribute: str | None
    metrics: tuple[Metric, ...]
    reason: str

    def results(self) -> list[Measured]:
        """The headline of each metric without a number."""
        return [
            Measured(
                metric=metric.key,
                scope=_headline(metric, self.data, self.attribute),
                group=None,
                number=Undefined(self.reason, 0),
                smallest_group=0,
                details={"formula": metric.formula},
            )
            for metric in self.metrics
        ]


def gaps(subject: Subject, evidence: Evidence, labels: Labelled | None) -> list[NotMeasured]:
    """Each data set of which picked metrics could not be measured."""
    monitor, attributes = subject.monitor, [attribute.feature for attribute in subject.monitor.attributes]
    mitigated = [name for name in attributes if subject.mitigation.mitigates(name)]
    no_copies = NO_ENDPOINT if subject.deployment.endpoint is None else None
    no_labels = None if labels is not None else UNSCORED_LABELS if len(evidence.feedback) else NO_LABELS
    found: list[NotMeasured] = []
    if no_copies is not None:
        for data in data_measured_on(DataSet.BALANCED):
            found += _missing(data, picked_on(monitor, data), attributes, no_copies)
        found += _missing(DataSet.DEBIASED, picked_on(monitor, DataSet.DEBIASED), mitigated, no_copies)
    if no_labels is not None:
        together = [TOGETHER.join(features) for features in monitor.intersections]
        found += _missing(DataSet.FEEDBACK, picked_on(monitor, DataSet.FEEDBACK), [*attributes, *together], no_labels)
    reason = no_labels or no_copies
    if reason is not None:
        found += _each(DataSet.DEBIASED_FEEDBACK, picked_on(monitor, DataSet.DEBIASED_FEEDBACK), mitigated, reason)
    return found


def _missing(data: DataSet, picked: Sequence[Metric], attributes: Sequence[str], reason: str) -> list[NotMeasured]:
    """What is of everybody is said once, the rest for each attribute."""
    of_everybody = tuple(metric for metric in picked if "overall" in metric.scopes_on(data.value))
    of_groups = tuple(metric for metric in picked if metric not in of_everybody)
    everybody = [NotMeasured(data, None, of_everybody, reason)] if of_everybody else []
    return [*everybody, *(NotMeasured(data, attribute, of_groups, reason) for attribute in attributes if of_groups)]


def _each(data: DataSet, picked: tuple[Metric, ...], attributes: Sequence[str], reason: str) -> list[NotMeasured]:
    """Everything for each attribute: what mitigation changes for everybody depends on whom it mitigates."""
    return [NotMeasured(data, attribute, picked, reason) for attribute in attributes if picked]


def _headline(metric: Metric, data: DataSet, attribute: str | None) -> Scope:
    if attribute is None:
        return "overall"
    scopes = metric.scopes_on(data.value)
    return next(scope for scope in (*_HEADLINES, *scopes) if scope in scopes)
