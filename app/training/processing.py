"""Processes an uploaded file, and keeps no row of it as a whole."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO

from ..clock import monotonic_seconds
from ..domain.deployments import Deployment
from ..domain.monitors import Monitor
from ..domain.training_data import TrainingData, TrainingForm, TrainingSummary
from .correlations import Correlations
from .distributions import Distributions
from .donors import DonorChoice
from .files import CsvFile, ParquetFile, TrainingFile
from .pieces import find_layout, read_pieces
from .survey import survey_file
from .tables import RowTables
from .unclassified import require_outcomes

KINDS: dict[TrainingForm, Callable[[BinaryIO], TrainingFile]] = {TrainingForm.CSV: CsvFile, TrainingForm.PARQUET: ParquetFile}


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    form: TrainingForm
    deployment: Deployment
    monitor: Monitor | None
    label: str
    weight: str | None
    received_at: datetime


def process_file(file: BinaryIO, upload: Upload) -> TrainingData:
    began = monotonic_seconds()
    content = KINDS[upload.form](file)
    deployment = upload.deployment
    layout = find_layout(
        content, deployment.schema, deployment.problem_type, label=upload.label, weight=upload.weight, monitor=upload.monitor
    )
    survey = survey_file(content, layout)
    counted = Distributions(layout, survey)
    tables = None if upload.monitor is None else RowTables(upload.monitor, deployment.schema, survey.seen)
    correlations = Correlations(layout, deployment.schema, survey)
    donors = DonorChoice(correlations, layout, survey)
    for piece in read_pieces(content, layout):
        counted.add(piece)
        correlations.add(piece)
        donors.add(piece)
        if tables is not None:
            tables.add(piece)
    require_outcomes(counted.of_labels(), upload.monitor)
    correlated = donors.read(content, deployment.schema)
    summary = TrainingSummary(
        form=upload.form,
        label=upload.label,
        weight=upload.weight,
        records=survey.records,
        schema_version=deployment.schema.version,
        labels=counted.of_labels(),
        absent=layout.absent,
        processed_at=upload.received_at,
        processing_seconds=monotonic_seconds() - began,
    )
    return TrainingData(summary, counted.of_columns(), () if tables is None else tables.tables(), correlated)
