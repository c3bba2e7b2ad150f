"""Page of the report that a regulator keeps: the presets, what is missing for each, and the files."""

from datetime import timedelta
from typing import Final
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from ..domain.checks import Span
from ..domain.time_ranges import RangePreset
from ..reports.regulator.clauses import NOT_LEGAL_ADVICE
from ..reports.regulator.making import ReportForm
from ..reports.regulator.presets import PRESETS, find_missing
from ..reports.regulator.sections import TITLES
from ..store.deployments.monitors import monitor_of
from ..web.access import NowIn, ReadableDeployment, SessionIn
from .ranges import KEEPS_RANGE, RangeIn, build_bar, chosen_span
from .rendering import page

router = APIRouter(prefix="/deployments/{deployment_id}/regulator-report", include_in_schema=False, dependencies=[KEEPS_RANGE])

USUAL_PERIOD: Final = timedelta(days=365)
"""Period of a report where no range is chosen: LL144 asks for data of at most a year."""


@router.get("")
def regulator_report_page(
    request: Request, deployment: ReadableDeployment, session: SessionIn, now: NowIn, time_range: RangeIn
) -> Response:
    """Returns the page."""
    monitor = monitor_of(session, deployment.no)
    span = chosen_span(time_range, now) or Span(start=now - USUAL_PERIOD, end=now)
    query = {"since": span.start.isoformat(timespec="seconds"), "until": span.end.isoformat(timespec="seconds")}
    lines = [
        {
            "preset": preset,
            "sheets": [TITLES[name.value] for name in preset.sheets],
            "missing": list(find_missing(name, deployment, monitor, ())),
            "query": urlencode({"preset": name.value} | query),
        }
        for name, preset in PRESETS.items()
    ]
    values = {
        "deployment": deployment,
        "monitor": monitor,
        "lines": lines,
        "span": span,
        "query": urlencode(query),
        "forms": [form.value for form in ReportForm],
        "notice": NOT_LEGAL_ADVICE,
        "bar": build_bar(request, time_range, span, usual=RangePreset.YEAR),
    }
    return page(request, "regulator_report.html", values)
