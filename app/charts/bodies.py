"""Series as a body."""

from typing import Any

from pydantic import Field

from ..checks.views.measurement_bodies import RECORDS_MEANING, MeasurementPage
from ..evidence.bodies import ComparisonEvidenceOut


class SeriesPage(MeasurementPage):
    """Measurements, oldest first, and the evidence on their figures."""

    records: list[dict[str, Any]] = Field(
        description="Of each check of the page, or period of a roll-up (`at`), each data set and attribute: "
        f"`check_id`, `at`, `data`, `attribute` and these. {RECORDS_MEANING}"
    )
    evidence: list[ComparisonEvidenceOut]
    """Evidence on the figures that the filter allows, as `…/evidence` has it. Empty without `metric`, for
    metrics without evidence, and on every page but the first."""
