"""What a report says of the deployment, its monitor and the window of a check."""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from app.charts.rendering import VEGA_LITE
from app.domain.checks import CheckRun
from app.domain.deployments import Deployment
from app.domain.monitors import Monitor, MonitoredAttribute
from app.domain.outcomes import outcome_label
from app.domain.texts import TOGETHER
from app.domain.values import GroupValue, label_of
from app.metrics.statements import limits_in_words
from app.reports.document import Block, Paragraph, Section, Table
from app.reports.numbers import ABSENT, moment

_CHANGED = (
    "The monitor has changed since: the check ran under version {then}, and what is shown here is version {now}. Favourable and"
    " unfavourable outcomes and the sizes of the window are those of the check; attributes and limits are the present ones."
    " The limits that each figure was held against stand with the figure."
)


def deployment_section(deployment: Deployment, model_revision: str | None) -> Section:
    """Which model this is about; `model_revision` is that of the check, if it is known."""
    revision = deployment.model_revision if model_revision is None else model_revision
    present = "" if revision == deployment.model_revision else f" (now {deployment.model_revision})"
    facts = (
        ("Deployment", deployment.name),
        ("Id", deployment.id),
        ("Kind of problem", deployment.problem_type.value),
        ("Model revision", f"{revision}{present}"),
        ("Features", _named(column.name for column in deployment.schema.features)),
        ("Fields that are logged and not sent to the model", _named(column.name for column in deployment.schema.meta)),
        ("Asked again about changed records", "yes, through its endpoint" if deployment.endpoint else "no, it has no endpoint"),
    )
    return Section("The model", (Table("The deployment", ("What", "Value"), facts),))


def monitor_section(monitor: Monitor | None, check: CheckRun | None) -> Section:
    """What counts as favourable, who is compared with whom, and which limits hold."""
    if monitor is None:
        return Section("The monitor", (Paragraph("The deployment has no fairness monitor now, so its configuration cannot be shown."),))
    window = {} if check is None or check.window is None else check.window
    facts = (
        ("Version", f"{monitor.version}"),
        ("Favourable outcomes", _outcomes(window.get("favourable"), monitor.outcomes.favourable)),
        ("Unfavourable outcomes", _outcomes(window.get("unfavourable"), monitor.outcomes.unfavourable)),
        ("Fewest records of a window", f"{window.get('min_records', monitor.min_records)}"),
        ("Most records of a window", f"{window.get('max_records', monitor.max_records)}"),
        ("Schedule", monitor.schedule.value),
        ("Copies per record and range", f"{monitor.draws}"),
        ("Seed of draws and resamples", f"{monitor.seed}"),
        ("Watched together", "; ".join(TOGETHER.join(features) for features in monitor.intersections) or "nothing"),
    )
    blocks: list[Block] = [
        Table("How outcomes are counted", ("What", "Value"), facts),
        Table(
            "Monitored attributes",
            ("Attribute", "Monitored", "Reference", "Disparate impact is fair", "Other limits"),
            tuple(_attribute(one) for one in monitor.attributes),
        ),
    ]
    if check is not None and check.monitor_version not in (None, monitor.version):
        blocks.insert(0, Paragraph(_CHANGED.format(then=check.monitor_version, now=monitor.version), is_caution=True))
    return Section("The monitor", tuple(blocks))


def window_section(check: CheckRun) -> Section:
    """Which records a check read."""
    return Section("The records", (Table("The window of the check", ("What", "Value"), tuple(_window(check))),))


def versions() -> str:
    """With what the report was made."""
    return f"Evenhand {_own_version()}, Vega-Lite {VEGA_LITE} for the charts, typst {version('typst')} for the PDF."


def _own_version() -> str:
    try:
        return version("evenhand")
    except PackageNotFoundError:
        return "from its source folder"


def _window(check: CheckRun) -> Iterator[tuple[str, str]]:
    window = check.window or {}
    yield "Span", f"{moment(check.span.start)} to {moment(check.span.end)}, the end not included"
    yield "Asked for by", f"{check.created_by} ({check.trigger.value})"
    yield "State", check.state.value.replace("_", " ") + (f": {check.reason}" if check.reason else "")
    for name, title in _COUNTS.items():
        if name in window:
            yield title, _told(window[name])
    yield "Began, ended", f"{moment(check.started_at)}, {moment(check.finished_at)}"


_COUNTS = {
    "records": "Records of the span",
    "additional_records": "Records added from earlier hours",
    "logged_in_span": "Records logged in the span",
    "unclassified_records": "Records in neither outcome list (in no rate)",
    "records_of_other_revisions": "Records of other model revisions",
    "records_in_no_group": "Records in no group, by attribute",
    "perturbed_records": "Copies with the attribute changed, by attribute",
    "unclassified_copies": "Copies in neither outcome list, by attribute",
    "attributes_unseen_by_model": "Attributes that the model does not see",
    "oldest_record_at": "Oldest record",
    "newest_record_at": "Newest record",
    "labelled_records": "Labelled records",
    "additional_labelled_records": "Labelled records added from earlier hours",
    "unclassified_labels": "Labels in neither outcome list",
    "carried_from": "Carried forward from check",
}


def _told(value: object) -> str:
    match value:
        case None:
            return ABSENT
        case dict():
            return "; ".join(f"{name}: {part}" for name, part in value.items()) or "none"
        case list():
            return ", ".join(map(str, value)) or "none"
        case int():
            return f"{value:,}"
        case _:
            return str(value)


def _attribute(one: MonitoredAttribute) -> tuple[str, ...]:
    limits = limits_in_words((one.threshold, one.upper_threshold)) + (
        "; the other side is not watched" if one.upper_threshold is None else ""
    )
    others = [f"{metric}: {limits_in_words((both.lower, both.upper))}" for metric, both in one.metric_limits]
    reference = "every other value" if one.reference is None else _listed(one.reference)
    return (one.feature, _listed(one.monitored), reference, limits, "; ".join(others) or "none")


def _outcomes(counted: object, configured: tuple[GroupValue, ...]) -> str:
    return ", ".join(map(str, counted)) if isinstance(counted, list) else ", ".join(map(outcome_label, configured))


def _listed(values: tuple[GroupValue, ...]) -> str:
    return ", ".join(label_of(value) for value in values)


def _named(names: Iterator[str]) -> str:
    return ", ".join(names) or "none"
