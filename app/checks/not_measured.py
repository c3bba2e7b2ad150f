"""Data sets that a check could not measure at all."""

from collections.abc import Sequence

from ..base.frozen import frozen
from ..deployments.monitor.picked_metrics import picked_on, stored_on
from ..domain.check import DataSet
from ..domain.comparison import Comparison, list_comparisons
from ..domain.figure_details import Details
from ..statistics.catalogue import Metric
from ..statistics.figure_values import Measured, Scope, Undefined
from .counting.tabulate import EVERYBODY, data_measured_on
from .subject import Subject
from .window.known_labels import Labelled
from .window.window_records import CheckEvidence

NO_ENDPOINT = "the deployment has no endpoint, so copies of its records cannot be scored"
NO_LABELS = "no labelled record is there"
REFUSED_LABELS = "the labelled records have no prediction, and the model gave none"
NOT_FOR_FILES = "mitigation is not there for a deployment whose records lie in your own tables"
TOO_MANY_TO_COMPARE = "the span holds more records than max_records, and this metric compares each with those most like it"
UNSCORED_LABELS = "the labelled records have no prediction, and the deployment has no endpoint to ask for one"

_HEADLINES: tuple[Scope, ...] = ("attribute", "pooled")


@frozen
class NotMeasured:
    data: DataSet
    comparison: Comparison
    metrics: tuple[Metric, ...]
    reason: str

    def results(self) -> list[Measured]:
        results = []
        for metric in self.metrics:
            scope: Scope = "overall"
            scopes = () if self.comparison == EVERYBODY else metric.scopes_on(self.data.value)
            if scopes:
                scope = next(scope for scope in (*_HEADLINES, *scopes) if scope in scopes)
            results.append(
                Measured(
                    metric=metric.key,
                    scope=scope,
                    group=None,
                    number=Undefined(self.reason, 0),
                    smallest_group=0,
                    worst_of=0 if "worst" in scopes else None,
                    details=Details(formula=metric.formula),
                )
            )
        return results


def find_gaps(subject: Subject, evidence: CheckEvidence, labels: Labelled | None, *, has_all: bool) -> list[NotMeasured]:
    monitor, in_files, no_endpoint = subject.monitor, subject.deployment.payload is not None, subject.deployment.endpoint is None
    unscored = UNSCORED_LABELS if no_endpoint else REFUSED_LABELS
    no_labels = None if labels is not None else unscored if len(evidence.feedback) else NO_LABELS
    gaps = _missing(DataSet.FEEDBACK, picked_on(monitor, DataSet.FEEDBACK), list_comparisons(monitor), no_labels)
    if not has_all:
        of_rows = [metric for metric in picked_on(monitor, DataSet.PAYLOAD) if "rows" in metric.needs]
        gaps += _missing(DataSet.PAYLOAD, of_rows, list_comparisons(monitor), TOO_MANY_TO_COMPARE)
    for comparison, reason in subject.unmeasured.items():
        with_copies = () if comparison.is_together else data_measured_on(DataSet.BALANCED)
        for data in (DataSet.PAYLOAD, DataSet.FEEDBACK, *with_copies):
            of_groups = [metric for metric in picked_on(monitor, data) if "overall" not in metric.scopes_on(data.value)]
            gaps += _missing(data, of_groups, [comparison], reason)
    of_labels = stored_on(monitor, DataSet.DEBIASED_FEEDBACK)
    for single in (Comparison((attribute.feature,)) for attribute in monitor.attributes if attribute.rule is None):
        no_copies = NO_ENDPOINT if no_endpoint else evidence.without_copies.get(single.label)
        for data in data_measured_on(DataSet.BALANCED):
            gaps += _missing(data, picked_on(monitor, data), [single], no_copies)
        if subject.mitigation.mitigates(single.label):
            gaps += _missing(DataSet.DEBIASED, stored_on(monitor, DataSet.DEBIASED), [single], NOT_FOR_FILES if in_files else no_copies)
            missing = NOT_FOR_FILES if in_files else no_labels or no_copies
            if missing is not None and of_labels:
                gaps.append(NotMeasured(DataSet.DEBIASED_FEEDBACK, single, of_labels, missing))
    return gaps


def _missing(data: DataSet, picked: Sequence[Metric], comparisons: Sequence[Comparison], reason: str | None) -> list[NotMeasured]:
    if reason is None:
        return []
    of_everybody = tuple(metric for metric in picked if "overall" in metric.scopes_on(data.value))
    of_groups = tuple(metric for metric in picked if metric not in of_everybody)
    everybody = [NotMeasured(data, EVERYBODY, of_everybody, reason)] if of_everybody else []
    return [*everybody, *(NotMeasured(data, comparison, of_groups, reason) for comparison in comparisons if of_groups)]
