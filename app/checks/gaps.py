"""Data sets that a check could not measure at all."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..details import Details
from ..domain.checks import DataSet
from ..domain.comparisons import Comparison, comparisons_of
from ..metrics.catalogue import Metric
from ..metrics.values import Measured, Scope, Undefined
from .evidence import CheckEvidence
from .labelled import Labelled
from .picking import picked_on, stored_on
from .subject import Subject
from .tabulation import EVERYBODY, data_measured_on

NO_ENDPOINT = "the deployment has no endpoint, so copies of its records cannot be scored"
NO_LABELS = "no labelled record is there"
REFUSED_LABELS = "the labelled records have no prediction, and the model does not take them"
NOT_FOR_FILES = "mitigation is not there for a deployment whose records lie in your own tables"
TOO_MANY_TO_COMPARE = "the span holds more records than max_records, and this metric compares each with those most like it"
UNSCORED_LABELS = "the labelled records have no prediction, and the deployment has no endpoint to ask for one"

_HEADLINES: tuple[Scope, ...] = ("attribute", "pooled")


@dataclass(frozen=True, slots=True)
class NotMeasured:
    data: DataSet
    comparison: Comparison
    metrics: tuple[Metric, ...]
    reason: str

    def results(self) -> list[Measured]:
        found = []
        for metric in self.metrics:
            scope: Scope = "overall"
            scopes = () if self.comparison == EVERYBODY else metric.scopes_on(self.data.value)
            if scopes:
                scope = next(one for one in (*_HEADLINES, *scopes) if one in scopes)
            found.append(
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
        return found


def find_gaps(subject: Subject, evidence: CheckEvidence, labels: Labelled | None, *, has_all: bool) -> list[NotMeasured]:
    monitor = subject.monitor
    attributes = [Comparison((attribute.feature,)) for attribute in monitor.attributes if attribute.rule is None]
    mitigated = [one for one in attributes if subject.mitigation.mitigates(one.label)]
    no_copies = NO_ENDPOINT if subject.deployment.endpoint is None else None
    unscored = UNSCORED_LABELS if subject.deployment.endpoint is None else REFUSED_LABELS
    no_labels = None if labels is not None else unscored if len(evidence.feedback) else NO_LABELS
    found: list[NotMeasured] = []
    in_files = subject.deployment.payload is not None
    if in_files:
        found += _missing(DataSet.DEBIASED, stored_on(monitor, DataSet.DEBIASED), mitigated, NOT_FOR_FILES)
        picked = stored_on(monitor, DataSet.DEBIASED_FEEDBACK)
        found += [NotMeasured(DataSet.DEBIASED_FEEDBACK, one, picked, NOT_FOR_FILES) for one in mitigated if picked]
    if not has_all:
        of_rows = [metric for metric in picked_on(monitor, DataSet.PAYLOAD) if "rows" in metric.needs]
        found += _missing(DataSet.PAYLOAD, of_rows, comparisons_of(monitor), TOO_MANY_TO_COMPARE)
    if no_copies is not None:
        for data in data_measured_on(DataSet.BALANCED):
            found += _missing(data, picked_on(monitor, data), attributes, no_copies)
        if not in_files:
            found += _missing(DataSet.DEBIASED, stored_on(monitor, DataSet.DEBIASED), mitigated, no_copies)
    if no_labels is not None:
        found += _missing(DataSet.FEEDBACK, picked_on(monitor, DataSet.FEEDBACK), comparisons_of(monitor), no_labels)
    reason = no_labels or no_copies
    picked = stored_on(monitor, DataSet.DEBIASED_FEEDBACK)
    if reason is not None and picked and not in_files:
        found += [NotMeasured(DataSet.DEBIASED_FEEDBACK, one, picked, reason) for one in mitigated]
    return found


def _missing(data: DataSet, picked: Sequence[Metric], comparisons: Sequence[Comparison], reason: str) -> list[NotMeasured]:
    of_everybody = tuple(metric for metric in picked if "overall" in metric.scopes_on(data.value))
    of_groups = tuple(metric for metric in picked if metric not in of_everybody)
    everybody = [NotMeasured(data, EVERYBODY, of_everybody, reason)] if of_everybody else []
    return [*everybody, *(NotMeasured(data, comparison, of_groups, reason) for comparison in comparisons if of_groups)]
