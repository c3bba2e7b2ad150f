"""Sections on the deployment, its monitor and the window of a check, and facts next to the figures."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

from ... import VERSION
from ...base.values import TOGETHER, GroupValue, name_value
from ...checks.counting.left_out_of_check import LEFT_OUT
from ...checks.days.measurement_queries import EndedRun
from ...checks.views.build_views import CARRIED
from ...checks.views.explain_figure import DATA_WORDS
from ...domain.check import CheckRun, DataSet
from ...domain.deployment import Deployment
from ...domain.groups import GroupWords
from ...domain.monitor import Monitor, MonitoredAttribute, describe_outcome
from ...statistics.sentences.figure_sentences import write_limits
from ..document import ABSENT, Fact, Paragraph, ReportTable, Section, build_caution, write_time
from ..report_source import ReportSource

MONITOR_CHANGED = (
    "The monitor has changed since: the check ran under version {then}, and what is shown here is version "
    "{now}. Favourable and unfavourable outcomes and the sizes of the window are those of the check; "
    "attributes and limits are the present ones. The limits that each figure was compared with are shown "
    "with the figure."
)

NO_MONITOR = "The deployment has no fairness monitor now, so its configuration cannot be shown."

MAX_NAMES = 5


def write_deployment_section(deployment: Deployment, model_revision: str | None) -> Section:
    """`model_revision` is that of the check."""
    revision = model_revision or deployment.model_revision
    present_revision = "" if revision == deployment.model_revision else f" (now {deployment.model_revision})"
    features, meta = (
        ", ".join(column.name for column in columns) or "none"
        for columns in (deployment.schema.features, deployment.schema.meta)
    )
    facts = {
        "Deployment": deployment.name,
        "Id": deployment.id,
        "Kind of problem": deployment.problem_type.value,
        "Model revision": f"{revision}{present_revision}",
        "Features": features,
        "Fields that are logged and not sent to the model": meta,
        "Asked again about changed records": "yes, through its endpoint"
        if deployment.endpoint
        else "no, it has no endpoint",
    }
    return Section("The model", (_tabulate("The deployment", facts),))


def _tabulate(caption: str, facts: Mapping[str, str]) -> ReportTable:
    return ReportTable(caption, ("What", "Value"), list(facts.items()))


def write_monitor_section(monitor: Monitor | None, check: CheckRun | None) -> Section:
    if monitor is None:
        return Section("The monitor", (Paragraph(NO_MONITOR),))
    window = _get_window(check)
    favourable, unfavourable = (
        ", ".join(_name_outcomes(window.get(side), getattr(monitor.outcomes, side)))
        for side in ("favourable", "unfavourable")
    )
    facts = {
        "Version": f"{monitor.version}",
        "Favourable outcomes": favourable,
        "Unfavourable outcomes": unfavourable,
        "Fewest records of a window": f"{window.get('min_records', monitor.min_records)}",
        "Most records of a window": f"{window.get('max_records', monitor.max_records)}",
        "Schedule": monitor.schedule.value,
        "Copies per record and range": f"{monitor.draws}",
        "Seed of draws and resamples": f"{monitor.seed}",
        "Watched together": "; ".join(map(TOGETHER.join, monitor.intersections)) or "nothing",
    }
    rows = []
    for attribute in monitor.attributes:
        monitored = ", ".join(map(name_value, attribute.monitored))
        if attribute.found_by is not None:
            monitored += f"; {attribute.found_by.words}"
        reference = (
            "every other value"
            if attribute.reference is None
            else ", ".join(map(name_value, attribute.reference))
        )
        limits = write_limits((attribute.threshold, attribute.upper_threshold))
        if attribute.upper_threshold is None:
            limits += "; the other side is not watched"
        other_limits = [
            f"{metric}: {write_limits((bounds.lower, bounds.upper))}"
            for metric, bounds in attribute.metric_limits
        ]
        rows.append((attribute.feature, monitored, reference, limits, "; ".join(other_limits) or "none"))
    columns = ("Attribute", "Monitored", "Reference", "Disparate impact is fair", "Other limits")
    return Section(
        "The monitor",
        (
            *map(build_caution, _note_change(monitor, check)),
            _tabulate("How outcomes are counted", facts),
            ReportTable("Monitored attributes", columns, rows),
        ),
    )


def _get_window(check: CheckRun | None) -> Mapping[str, Any]:
    return {} if check is None or check.window is None else check.window


def _note_change(monitor: Monitor, check: CheckRun | None) -> Iterator[str]:
    if check is not None and check.monitor_version not in (None, monitor.version):
        yield MONITOR_CHANGED.format(then=check.monitor_version, now=monitor.version)


_COUNT_TITLES = {
    "records": "Records of the span",
    "additional_records": "Records added from earlier hours",
    "logged_in_span": "Records logged in the span",
    "records_of_other_revisions": "Records of other model revisions",
    "labels_of_some": "Labels",
    "near_twins": "Values that look like another one",
    "misspelled_groups": "Groups that records spell in other letters",
    "perturbed_records": "Copies with the attribute changed, by attribute",
    "repeats": "Records asked again unchanged",
    "unclassified_copies": "Copies in neither outcome list, by attribute",
    "rounded_probabilities": "Probabilities a hair outside 0 to 1, which count as 0 or 1",
    "records_not_scored": "Records without a usable answer of the model, by attribute",
    "labels_not_scored": "Labelled records without a usable answer of the model",
    "attributes_unseen_by_model": "Attributes that the model does not see",
    "oldest_record_at": "Oldest record",
    "newest_record_at": "Newest record",
    "labelled_records": "Labelled records",
    "additional_labelled_records": "Labelled records added from earlier hours",
    "carried_from": "Carried forward from check",
}


def write_window_section(check: CheckRun) -> Section:
    state = check.state.value.replace("_", " ")
    facts = {
        "Span": f"{write_time(check.span.start)} to {write_time(check.span.end)}, the end not included",
        "Asked for by": f"{check.created_by} ({check.trigger.value})",
        "State": f"{state}: {check.reason}" if check.reason else state,
    }
    window = check.window or {}
    for name, title in _COUNT_TITLES.items():
        if name not in window:
            continue
        match window[name]:
            case None:
                facts[title] = ABSENT
            case dict() as counts:
                facts[title] = "; ".join(f"{key}: {count}" for key, count in counts.items()) or "none"
            case list() as names:
                facts[title] = ", ".join(map(str, names)) or "none"
            case int() as count:
                facts[title] = f"{count:,}"
            case text:
                facts[title] = str(text)
    for data, records_by_attribute in window.get(LEFT_OUT, {}).items():
        for attribute, records in records_by_attribute.items():
            facts[f"{attribute}, {DATA_WORDS[DataSet(data)]}"] = records["text"]
    facts["Began, ended"] = f"{write_time(check.started_at)}, {write_time(check.finished_at)}"
    return Section("The records", (_tabulate("The window of the check", facts),))


def name_versions() -> str:
    return f"Evenhand {VERSION}, typst {version('typst')} for the PDF."


def _name_outcomes(checked: object, configured: tuple[GroupValue, ...]) -> Iterable[str]:
    """Names the outcomes that the check's window states; those of the monitor if it states none."""
    return map(str, checked) if isinstance(checked, list) else map(describe_outcome, configured)


def shorten_names(names: Iterable[str], limit: int = MAX_NAMES) -> str:
    all_names = list(names)
    remaining = len(all_names) - limit
    text = ", ".join(all_names[:limit]) or "none"
    return f"{text} and {remaining:,} more" if remaining > 0 else text


def list_cautions(source: ReportSource) -> Iterator[str]:
    if source.period is None and source.check is not None and source.check.carried_from is not None:
        yield CARRIED.format(check_id=source.check.carried_from)
    if source.monitor is None:
        yield NO_MONITOR
    else:
        yield from _note_change(source.monitor, source.check)


def count_states(runs: Iterable[EndedRun]) -> str:
    states = Counter(run.state for run in runs)
    return (
        ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in sorted(states.items())) or "none"
    )


def list_facts(source: ReportSource) -> Iterator[Fact]:
    deployment = source.deployment
    check = source.check
    monitor = source.monitor
    revision = deployment.model_revision
    if check is not None:
        revision = check.model_revision or revision
    yield Fact("Model", f"{deployment.id}, revision {revision}")
    window = _get_window(check)
    if source.period is not None:
        period = source.period
        yield Fact("Hours", f"{period.checked:,} of {period.hours:,} that have ended were checked")
    elif "records" in window:
        additional = (
            f" and {window['additional_records']:,} of earlier hours"
            if window.get("additional_records")
            else ""
        )
        yield Fact("Population", f"{window['records']:,} logged records of the check's span{additional}")
    if check is not None and source.period is None:
        yield Fact("Check", f"{check.id}, of {write_time(check.span.start)} to {write_time(check.span.end)}")
    if not source.is_of_check:
        yield Fact("Checks that ended", count_states(source.runs))
    if monitor is not None:
        yield Fact(
            "Favourable outcome",
            shorten_names(_name_outcomes(window.get("favourable"), monitor.outcomes.favourable)),
        )
        names = GroupWords.of(monitor)
        comparisons = []
        for attribute in monitor.attributes[:3]:
            monitored = shorten_names(_name_groups(attribute, attribute.monitored, names), 3)
            reference = "every other value"
            if attribute.reference is not None:
                reference = shorten_names(_name_groups(attribute, attribute.reference, names), 3)
            limits = write_limits((attribute.threshold, attribute.upper_threshold))
            comparisons.append(f"{attribute.feature}: {monitored} with {reference}, fair at {limits}")
        remaining = len(monitor.attributes) - len(comparisons)
        yield Fact("Compared", "; ".join(comparisons) + (f"; and {remaining} more" if remaining else ""))
        yield Fact("Monitor", f"version {monitor.version}")


def _name_groups(
    attribute: MonitoredAttribute, values: Iterable[GroupValue], names: GroupWords
) -> Iterator[str]:
    for label in map(name_value, values):
        name = names.label(attribute.feature, label)
        yield name if name == label else f"{name} ({label})"


def list_origin(source: ReportSource, digest: str) -> Iterator[Fact]:
    yield Fact("Software", name_versions())
    yield Fact("SHA-256 of the data", digest)
    base = f"/v1/deployments/{source.deployment.id}"
    since, until = (at.isoformat().replace("+00:00", "Z") for at in (source.span.start, source.span.end))
    data = f"{base}/report.json?since={since}&until={until}"
    if source.is_of_check and source.check is not None:
        data = f"{base}/checks/{source.check.id}/report.json"
    yield Fact("The data", f"data.json, attached to the PDF; or GET {data}")
    if source.check is not None:
        trace = f"trace.csv, attached to the PDF; or GET {base}/checks/{source.check.id}/trace.csv"
        yield Fact("Every figure, its formula and counts", trace)
