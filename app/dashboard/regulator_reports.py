"""Page of the report that a regulator keeps: the presets, what is missing for each, the files, kept reports and schedules."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from ..domain.category_schemes import EXAMPLE_MAPPING, MAX_MAPPING_LENGTH, SCHEMES, parse_mappings
from ..domain.checks import Span
from ..domain.deployments import Deployment
from ..domain.monitors import Monitor
from ..domain.report_schedules import MAX_SCHEDULES, ReportRhythm
from ..domain.time_ranges import RangePreset
from ..errors import InvalidInput
from ..reports.regulator.clauses import NOT_LEGAL_ADVICE
from ..reports.regulator.making import ReportForm
from ..reports.regulator.presets import PRESETS, find_missing
from ..reports.regulator.sections import TITLES
from ..reports.regulator.wanted import SheetsWanted
from ..store.deployments.monitors import monitor_of
from ..store.reports.kept import kept_page
from ..store.reports.schedules import first_due, schedules_page
from ..web.access import NowIn, ReadableDeployment, SessionIn
from .ranges import KEEPS_RANGE, RangeIn, build_bar, chosen_span
from .rendering import page

router = APIRouter(prefix="/deployments/{deployment_id}/regulator-report", include_in_schema=False, dependencies=[KEEPS_RANGE])

MOST_KEPT = 50
"""Max kept reports that the page lists; REST lists all."""

USUAL_PERIOD: Final = timedelta(days=365)
"""Period of a report where no range is chosen: LL144 asks for data of at most a year."""


@router.get("")
def regulator_report_page(
    request: Request,
    deployment: ReadableDeployment,
    session: SessionIn,
    now: NowIn,
    time_range: RangeIn,
    categories: Annotated[str, Query(max_length=MAX_MAPPING_LENGTH)] = "",
) -> Response:
    """Returns the page. `categories` is a mapping as JSON, which the addresses of the files get."""
    monitor = monitor_of(session, deployment.no)
    span = chosen_span(time_range, now) or Span(start=now - USUAL_PERIOD, end=now)
    query = {"since": span.start.isoformat(timespec="seconds"), "until": span.end.isoformat(timespec="seconds")}
    problem = find_problem(categories)
    if categories.strip() and not problem:
        query["categories"] = categories
    schedules = [
        {"schedule": one, "wanted": SheetsWanted.from_json(one.content.wanted), "next": first_due(one, now)}
        for one in schedules_page(session, deployment.no, after_no=0, limit=MAX_SCHEDULES)
    ]
    kept = [
        {"report": one, "wanted": SheetsWanted.from_json(one.wanted)}
        for one in kept_page(session, deployment.no, before_no=None, limit=MOST_KEPT)
    ]
    values = {
        "schedules": schedules,
        "kept": kept,
        "most_kept": MOST_KEPT,
        "rhythms": list(ReportRhythm),
        "titles": {name.value: preset.title for name, preset in PRESETS.items()},
        "columns": [column.name for column in (*deployment.schema.features, *deployment.schema.meta)],
        "now": now,
        "deployment": deployment,
        "monitor": monitor,
        "lines": describe_presets(deployment, monitor, query),
        "span": span,
        "query": urlencode(query),
        "forms": [form.value for form in ReportForm],
        "notice": NOT_LEGAL_ADVICE,
        "mapping": {"text": categories, "problem": problem, "is_used": "categories" in query},
        "mappings": {"most": MAX_MAPPING_LENGTH, "example": EXAMPLE_MAPPING, "schemes": list(SCHEMES)},
        "bar": build_bar(request, time_range, span, usual=RangePreset.YEAR),
    }
    return page(request, "regulator_report.html", values)


def describe_presets(deployment: Deployment, monitor: Monitor | None, query: Mapping[str, str]) -> list[dict[str, object]]:
    """Returns each preset with its sheets, what the deployment lacks for it, and the query of its files."""
    return [
        {
            "preset": preset,
            "sheets": [TITLES[name.value] for name in preset.sheets],
            "missing": list(find_missing(name, deployment, monitor, ())),
            "query": urlencode({"preset": name.value, **query}),
        }
        for name, preset in PRESETS.items()
    ]


def find_problem(mapping: str) -> str:
    """Returns what is wrong with a mapping of categories, as JSON; empty where nothing is, or where there is none."""
    if not mapping.strip():
        return ""
    try:
        parse_mappings(mapping)
    except InvalidInput as error:
        return str(error)
    return ""
