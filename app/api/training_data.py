"""Routes of a deployment's training data: upload, read, measure, delete."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError

from app.api.answers import problems_of_deployment, problems_with_body
from app.api.changes import training_data_changes
from app.api.schemas.measurements import MeasurementOut, MeasurementPage
from app.api.schemas.training_data import TrainingDataOut, TrainingDistributionsIn, TrainingSummaryOut
from app.api.uploads import media_type_of, spooled
from app.checks.gaps import NotMeasured
from app.checks.measuring import measure_table, not_measured
from app.clock import utc_now
from app.domain.checks import DataSet, Measurement
from app.domain.deployments import Deployment
from app.domain.monitors import Monitor
from app.domain.training_data import TrainingData, TrainingForm
from app.errors import Conflict, InvalidInput, NotFound, UnsupportedMediaType
from app.metrics import metrics_on
from app.security.principals import Principal
from app.services import Services
from app.store.activities import record_activity
from app.store.deployments import Deployments
from app.store.monitors import monitor_of
from app.store.training_data import delete_training_data, distributions_of, label_tables_of, store_training_data, training_summary_of
from app.training.limits import MAX_DISTRIBUTION_BYTES, MAX_FILE_BYTES
from app.training.present import present_tables
from app.training.processing import Upload, process_file
from app.training.ready import process_distributions
from app.web.access import DeploymentId, LockedDeployment, Manager, ReadableDeployment, ServicesIn, SessionIn, locked, managed
from app.web.media import is_json, takes
from app.web.problems import field_problems

router = APIRouter(prefix="/v1/deployments/{deployment_id}/training-data", tags=["training data"])

FORMS = {"text/csv": TrainingForm.CSV, "application/vnd.apache.parquet": TrainingForm.PARQUET}

NO_ROWS = "it compares records with each other, and the rows of training data are not kept"

_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "text/csv": {"schema": {"type": "string"}, "example": "Age,Sex,Owner,Risk\n33,female,true,Risk\n51,male,false,No Risk\n"},
        "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
        "application/json": {"schema": {"$ref": "#/components/schemas/TrainingDistributionsIn"}},
    },
}

ColumnName = Annotated[str, Query(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]


@router.put(
    "",
    operation_id="putTrainingData",
    responses=problems_with_body(NotFound, Conflict),
    openapi_extra={"requestBody": _BODY},
)
@takes(*FORMS)
async def put_training_data(
    request: Request,
    principal: Manager,
    services: ServicesIn,
    deployment_id: DeploymentId,
    label: Annotated[ColumnName, Query(description="The label's column.", examples=["Risk"])] = "label",
    weight: Annotated[ColumnName | None, Query(description="A column of weights; files only.")] = None,
) -> TrainingSummaryOut:
    """Uploads training data: the file itself as the body (CSV with a header, Parquet), or a ready distribution as JSON.

    Uploading again replaces what was there. No row is kept as a whole, only how values and labels are distributed, the exact counts
    that the fairness monitor of the moment compares, and, of a file with meta fields, how strongly they go together with the features
    and parts of a sample of rows. `unclassified` counts labels that are not among its outcomes; where no label
    is, the upload is refused.
    """
    form = _form(request)
    limit = MAX_DISTRIBUTION_BYTES if form is TrainingForm.DISTRIBUTION else MAX_FILE_BYTES
    async with services.turns:
        deployment, monitor = await run_in_threadpool(_subject, services, principal, deployment_id)
    upload = partial(Upload, form=form, deployment=deployment, monitor=monitor, label=label, weight=weight)
    async with spooled(request, places=services.uploads, max_bytes=limit) as file:
        data = await run_in_threadpool(_processed, file, upload(received_at=utc_now()))
    async with services.turns:
        await run_in_threadpool(_store, services, principal, deployment, data)
    return TrainingSummaryOut.of(data.summary, monitor)


@router.get("", operation_id="readTrainingData", responses=problems_of_deployment())
def read_training_data(
    deployment: ReadableDeployment,
    session: SessionIn,
    column: Annotated[ColumnName | None, Query(description="Distributions that hold this column only.")] = None,
) -> TrainingDataOut:
    """What was uploaded, and how the values of each column and the labels occur with each other."""
    summary = training_summary_of(session, deployment.no)
    if summary is None:
        raise _nothing(deployment)
    return TrainingDataOut.whole(summary, distributions_of(session, deployment.no, column), monitor_of(session, deployment.no))


@router.get("/measurements", operation_id="measureTrainingData", responses=problems_of_deployment(Conflict))
def measure_training_data(deployment: ReadableDeployment, session: SessionIn) -> MeasurementPage:
    """The pre-training metrics of the monitor's attributes and intersections, all of them, whatever metrics the monitor picks.

    Where a monitor was changed since the upload and the stored distributions do not tell its groups, `value` is null and `reason` says
    so: upload again. So it is of metrics that read the records themselves, for the rows are not kept.
    """
    summary = training_summary_of(session, deployment.no)
    if summary is None:
        raise _nothing(deployment)
    monitor = monitor_of(session, deployment.no)
    if monitor is None:
        raise Conflict(f"Deployment {deployment.id} has no fairness monitor, which says who is compared with whom; put one first.")
    data = TrainingData(summary, distributions_of(session, deployment.no), label_tables_of(session, deployment.no))
    return MeasurementPage(measurements=[MeasurementOut.of(found) for found in _measured(data, monitor, deployment)], next_cursor=None)


@router.delete("", status_code=204, operation_id="deleteTrainingData", responses=problems_of_deployment())
def forget_training_data(deployment: LockedDeployment, session: SessionIn, principal: Manager) -> None:
    """Forgets what was uploaded."""
    changes = training_data_changes(training_summary_of(session, deployment.no), None)
    if not delete_training_data(session, deployment.no):
        raise _nothing(deployment)
    record_activity(session, principal.actor, "training_data.deleted", deployment=deployment, details=changes)


def _form(request: Request) -> TrainingForm:
    media_type = media_type_of(request)
    if is_json(media_type):
        return TrainingForm.DISTRIBUTION
    if media_type not in FORMS:
        raise UnsupportedMediaType(f"Send one of the content types application/json, {', '.join(FORMS)}; found none.")
    return FORMS[media_type]


def _subject(services: Services, principal: Principal, deployment_id: str) -> tuple[Deployment, Monitor | None]:
    with services.database.transaction() as session:
        deployment = managed(principal, Deployments(session, services.secret_box), deployment_id)
        return deployment, monitor_of(session, deployment.no)


def _processed(file: BinaryIO, upload: Upload) -> TrainingData:
    if upload.form is not TrainingForm.DISTRIBUTION:
        return process_file(file, upload)
    if upload.weight is not None:
        raise InvalidInput.of("weight", "is of files only: a ready distribution counts records")
    try:
        sent = TrainingDistributionsIn.model_validate_json(file.read()).to_domain()
    except ValidationError as error:
        raise InvalidInput(field_problems(error.errors())) from error
    return process_distributions(
        sent, deployment=upload.deployment, label=upload.label, received_at=upload.received_at, monitor=upload.monitor
    )


def _store(services: Services, principal: Principal, deployment: Deployment, data: TrainingData) -> None:
    with services.database.transaction() as session:
        present = locked(principal, Deployments(session, services.secret_box), deployment.id)
        if (present.no, present.schema) != (deployment.no, deployment.schema):
            raise Conflict(f"The columns of {deployment.id} were changed while the data were read. Nothing was stored; upload again.")
        changes = training_data_changes(training_summary_of(session, present.no), data.summary)
        store_training_data(session, deployment.no, data)
        record_activity(session, principal.actor, "training_data.replaced", deployment=present, details=changes)


def _measured(data: TrainingData, monitor: Monitor, deployment: Deployment) -> Iterator[Measurement]:
    metrics = tuple(metric for metric in metrics_on("training") if "rows" not in metric.needs)
    of_rows = tuple(metric for metric in metrics_on("training") if "rows" in metric.needs)
    every, at = replace(monitor, metrics=tuple(metric.key for metric in metrics)), data.summary.processed_at
    for found in present_tables(data, monitor, deployment.schema):
        if found.table is None:
            absent = NotMeasured(DataSet.TRAINING, found.attribute, metrics, found.reason)
            yield from not_measured(absent, monitor=every, at=at)
        else:
            lacking = {} if found.table.strata is not None else {"strata": found.no_strata}
            yield from measure_table(DataSet.TRAINING, found.attribute, found.table, monitor=every, at=at, lacking=lacking)
    yield from not_measured(NotMeasured(DataSet.TRAINING, None, of_rows, NO_ROWS), monitor=every, at=at)


def _nothing(deployment: Deployment) -> NotFound:
    return NotFound("training data of the deployment", deployment.id)
