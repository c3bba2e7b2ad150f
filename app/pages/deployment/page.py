"""Fairness of one deployment: the worst group in words, over time, and every group in numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from ...access.gate.caller import NowIn, SessionIn
from ...alerts.queries import read_present_alerts
from ...base.values import Range, frozen_by_name, join_first, name_value
from ...charts.forest import STRIP_CHECKS, build_forest, choose_metric
from ...charts.timeline import choose_range
from ...checks.advice.advice import advise_on_check
from ...checks.advice.causes import Cause
from ...checks.result_queries import RecentFigures, read_recent_figures
from ...checks.views.view_source import list_notes_of_check, read_present
from ...deployments.deployment_in_address import Watched
from ...deployments.monitor.queries import find_missing_sides
from ...domain.alert import AlertKind
from ...domain.check import DataSet, FigureKey, Measurement
from ...domain.deployment import Deployment
from ...domain.groups import GroupWords
from ...domain.monitor import Monitor, MonitoredAttribute, list_comparisons, split_group
from ...evidence.attribution.queries import find_newest_attributions
from ...evidence.present_state import read_era_evidence
from ...evidence.queries.eras import FollowedDeployment
from ...evidence.words import describe_evidence
from ...overview.fleet import look_at_deployment
from .. import check_words
from ..range_bar import RangeIn, build_bar
from ..render import make_header, name_actors, show_page
from .forest_rows import build_forest_context, choose_row, list_live_alerts
from .over_time import ChosenCharts, draw_groups

router = APIRouter(include_in_schema=False)

CONFIGURED_CAUSES = frozenset(
    {
        Cause.NO_MONITOR,
        Cause.NO_RECORDS,
        Cause.NOT_SCHEDULED,
        Cause.TOO_FEW_RECORDS,
        Cause.SCORING_FAILED,
        Cause.INVALID_INPUT,
        Cause.ALL_UNCLASSIFIED,
        Cause.GROUP_WITHOUT_RECORDS,
        Cause.GROUP_TOO_SMALL,
        Cause.REFERENCE_NEVER_FAVOURABLE,
        Cause.NO_LIMITS,
    }
)
"""Causes whose next step is on Configure."""

FLIPS = "flip_rate"
"""Metric whose counts say which outcomes copies change."""

MAX_REFERENCES = 3
"""Reference values that a sentence names."""


@router.get("/deployments/{deployment_id}")
def show_fairness_page(
    request: Request,
    watched: Watched,
    session: SessionIn,
    now: NowIn,
    choice: RangeIn,
    chosen: Annotated[ChosenCharts, Query()],
) -> Response:
    """Shows the worst group and all others. A test counts the statements: read each value once."""
    deployment = watched.deployment
    monitor = watched.monitor
    status = look_at_deployment(session, deployment.no, now=now)
    measured = status.measured
    success = status.entry.success
    chosen_range = choose_range(choice, oldest=status.entry.first_start, now=now)
    checks = read_present(session, deployment.no, None if success is None else success.no)
    evidence = None
    if monitor is not None:
        evidence = read_era_evidence(session, FollowedDeployment.of(deployment), monitor)
    alerts = read_present_alerts(session, deployment.no, opened_in=chosen_range.span)

    metric = chosen.metric if "metric" in chosen.model_fields_set else choose_metric(measured)
    recent = RecentFigures((), ())
    if success is not None:
        recent = read_recent_figures(session, deployment.no, metric, limit=STRIP_CHECKS, until=success.at)
    forest = build_forest(
        recent, measured, monitor=monitor, evidence=evidence, metric=metric, now=now, shows_evidence=True
    )
    live = list_live_alerts(alerts)
    busy = checks.under_way
    newest = checks.newest
    worst = forest.rows[0] if forest.rows else None
    effect = None
    if worst is not None and monitor is not None and newest is not None:
        subject = (worst.attribute, worst.group)
        effect = say_effect(measured, deployment, monitor, subject=subject, check_id=newest.check.id)
    advice = None if busy is None else advise_on_check(busy, replace(status.outlook, under_way=busy.state))
    opened_row = choose_row(forest, chosen)
    attributions = None
    if opened_row is not None:
        features = opened_row.main.measurement.comparison.features
        attributions = find_newest_attributions(session, deployment.no, features=features)
    rows = [row for row in (worst, opened_row) if row is not None]
    charts = draw_groups(session, watched, rows, span=chosen_range.span, zone=choice.zone, alerts=alerts)
    asker_id = None if busy is None else busy.created_by
    names = name_actors(session, [*(alert.acknowledged_by for alert in live), asker_id])
    header = make_header(status, now, busy=busy, advice=advice, asker=names.get(asker_id or "", ""))
    values = {
        "deployment": deployment,
        "monitor": monitor,
        "header": header,
        "state": status.state,
        "worker_notice": status.worker_notice,
        "newest": None if newest is None else newest.check,
        "missing_records": () if newest is None else list_notes_of_check(session, newest, forest.attribute),
        **build_forest_context(forest, chosen, live, attributions.done if attributions else None),
        "attributions": attributions,
        "effect": effect,
        "evidence_in_short": [] if evidence is None else describe_evidence(evidence),
        "guarantee": "" if evidence is None else evidence.guarantee,
        "words": check_words,
        "missing": find_missing_sides(monitor),
        "names": names,
        "some_group": [alert for alert in live if alert.kind is AlertKind.SOME_GROUP],
        "configured": CONFIGURED_CAUSES,
        "chart": charts[0] if charts else None,
        "drawer_chart": None if opened_row is None else charts[-1],
        "bar": build_bar(request, choice, chosen_range.span, usual=chosen_range.usual),
        "chosen": chosen,
    }
    return show_page(request, "fairness.html", values)


@frozen_by_name
class FlipTotal:
    """Sentence on `records` of a group whose outcome a copy would change; `query` lists exactly these."""

    sentence: str
    records: int
    query: Mapping[str, str]


def say_effect(
    measured: Sequence[Measurement],
    deployment: Deployment,
    monitor: Monitor,
    *,
    subject: tuple[str, str],
    check_id: str,
) -> FlipTotal | None:
    """Says what the model does to a group because of its attribute, by the copies of a check.

    `subject` is an attribute and a group; of attributes together the sentence is about the one that changes
    most outcomes. None where no copies are counted.
    """
    names = GroupWords.of(monitor)
    features = {column.name for column in deployment.schema.features}
    totals = []
    comparisons = (pair for pair in list_comparisons(monitor) if pair.label == subject[0])
    members = next((pair.members(monitor) for pair in comparisons), [])
    groups = [(subject[1],)] if len(members) == 1 else split_group(subject[1], members)
    for attribute, group in zip(members, groups[0] if groups else (), strict=False):
        name = attribute.feature
        if name not in features:
            totals.append(FlipTotal(sentence=f"The model does not see {name}.", records=0, query={}))
            continue
        key = FigureKey(metric=FLIPS, data=DataSet.COUNTERFACTUAL, attribute=name, group=group)
        counts = next((measurement.details.counts for measurement in measured if measurement.key == key), {})
        gained, lost, records = (counts.get(kind) for kind in ("gained", "lost", "n"))
        if gained is None or lost is None or not records:
            continue
        change = "lost" if lost > gained else "gained"
        sentence = word_total(attribute, group, int(gained), int(records), names)
        if lost > gained:
            outcome = names.names.favourable
            present, other = (
                ("got the favourable outcome", "not have got it")
                if outcome is None
                else (f"{'were' if lost > 1 else 'was'} {outcome}", "not have been")
            )
            sentence = (
                f"{int(lost):,} of {int(records):,} {names.subject(name, group)} {present}, "
                f"and would {other} {_describe_change(attribute, names)}."
            )
        elif not gained:
            sentence = (
                f"The outcome of none of {int(records):,} {names.subject(name, group)} would be another "
                f"{_describe_change(attribute, names)}."
            )
        query = {"check": check_id, "attribute": name, "group": group, "changed": change}
        totals.append(FlipTotal(sentence=sentence, records=int(max(gained, lost)), query=query))
    return max(totals, key=lambda total: total.records, default=None)


def word_total(
    attribute: MonitoredAttribute, group: str, gained: int, records: int, names: GroupWords
) -> str:
    name = names.names.favourable
    groups = names.subject(attribute.feature, group)
    change = _describe_change(attribute, names)
    present = f"{'were' if gained > 1 else 'was'} not {name}"
    otherwise = "have been"
    if name is None and gained:
        present = "did not get the favourable outcome"
        otherwise = "have got it"
    elif name is None:
        present = "got another outcome"
        otherwise = "have got the favourable one"
    if not gained:
        return f"Of {records:,} {groups}, none that {present} would {otherwise} {change}."
    return f"{gained:,} of {records:,} {groups} {present}, and would {otherwise} {change}."


def _describe_change(attribute: MonitoredAttribute, names: GroupWords) -> str:
    reference = attribute.reference
    if reference is not None and len(reference) == 1 and not isinstance(reference[0], Range):
        return f"as {names.subject(attribute.feature, name_value(reference[0]))}"
    if reference is None:
        return f"with another value of {attribute.feature}"
    labels = [names.label(attribute.feature, name_value(value)) for value in reference]
    return f"with {attribute.feature} as in the reference ({join_first(labels, MAX_REFERENCES)})"
