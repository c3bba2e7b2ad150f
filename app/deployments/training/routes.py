"""Routes of a deployment's training data."""

from typing import Annotated, BinaryIO

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError

from ...access.audit.activity_queries import record_activity
from ...access.gate.caller import DeploymentId, Manager, Reader, Services, ServicesIn, SessionIn
from ...access.principals import Principal
from ...base.apart import ChildWork, SentFile
from ...base.clock import utc_now
from ...base.errors import Conflict, InvalidInput, UnsupportedMediaType
from ...base.strict_json import require_strict
from ...domain.deployment import Deployment
from ...domain.monitor import Monitor
from ...web.body import read_apart, read_sent_type, spool_body
from ...web.middleware import is_json, takes
from ...web.problems import field_problems
from ...web.route_declarations import CONFLICT
from ..change_texts import list_training_data_changes
from ..deployment_in_address import LockedDeployment, ReadableDeployment, get_locked, get_managed
from ..monitor.queries import find_monitor
from ..queries import Deployments
from .bodies import TrainingDataOut, TrainingDistributionsIn, TrainingSummaryOut
from .from_distributions import process_distributions
from .process_upload import Upload, process_file
from .queries import (
    MAX_DISTRIBUTION_BYTES,
    MAX_FILE_BYTES,
    TrainingData,
    TrainingForm,
    delete_training_data,
    find_training_summary,
    read_distributions,
    require_summary,
    store_training_data,
)

router = APIRouter(prefix="/v1/deployments/{deployment_id}/training-data", tags=["training data"])

FORMS = {"text/csv": TrainingForm.CSV, "application/vnd.apache.parquet": TrainingForm.PARQUET}

_BODY = {
    "required": True,
    "content": {
        "text/csv": {
            "schema": {"type": "string"},
            "example": "Age,Sex,Owner,Risk\n33,female,true,Risk\n51,male,false,No Risk\n",
        },
        "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
        "application/json": {"schema": {"$ref": "#/components/schemas/TrainingDistributionsIn"}},
    },
}

ColumnName = Annotated[str, Query(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]


@router.put("", responses=CONFLICT, openapi_extra={"requestBody": _BODY})
@takes(*FORMS)
async def put_training_data(
    request: Request,
    principal: Manager,
    services: ServicesIn,
    deployment_id: DeploymentId,
    label: Annotated[ColumnName, Query(description="The label's column.", examples=["Risk"])] = "label",
    weight: Annotated[ColumnName | None, Query(description="A column of weights; files only.")] = None,
) -> TrainingSummaryOut:
    """Uploads training data: the file itself as the body (CSV with a header, Parquet), or a ready
    distribution as JSON.

    Uploading again replaces the earlier upload. Evenhand keeps no whole row, only the distributions of
    values and labels, the exact counts that the present fairness monitor compares, and, of a file with
    meta fields, the strength of their association with the features and parts of a sample of rows.
    `unclassified` counts labels that are not among the monitor's outcomes; if no label is among them, the
    upload is refused.
    """
    sent = read_sent_type(request)
    media_type = sent.media_type
    if not is_json(media_type) and media_type not in FORMS:
        raise UnsupportedMediaType(
            f"Send one of the content types application/json, {', '.join(FORMS)}; found none."
        )
    form = TrainingForm.DISTRIBUTION if is_json(media_type) else FORMS[media_type]
    limit = MAX_DISTRIBUTION_BYTES if form is TrainingForm.DISTRIBUTION else MAX_FILE_BYTES
    async with services.turns:
        deployment, monitor = await run_in_threadpool(_read_subject, services, principal, deployment_id)
    async with spool_body(request, room=services.uploads, actor=principal.actor, max_bytes=limit) as file:
        upload = Upload(
            form=form,
            deployment=deployment,
            monitor=monitor,
            label=label,
            weight=weight,
            received_at=utc_now(),
            encoding=sent.encoding,
        )
        data = await read_apart(request, ChildWork(_process, SentFile(file), upload))
    async with services.turns:
        await run_in_threadpool(_store, services, principal, deployment, data)
    return TrainingSummaryOut.of(data.summary, monitor)


@router.get("")
def read_training_data(
    principal: Reader,
    deployment: ReadableDeployment,
    session: SessionIn,
    column: Annotated[
        ColumnName | None, Query(description="Distributions that hold this column only.")
    ] = None,
) -> TrainingDataOut:
    """Returns a summary of the upload, and the joint distribution of each column's values and the labels.

    For roles that see figures only, the values of fewer than five records are together as `other`, and so
    are such labels.
    """
    summary = require_summary(session, deployment)
    distributions = read_distributions(session, deployment.no, column)
    monitor = find_monitor(session, deployment.no)
    return TrainingDataOut.whole(summary, distributions, monitor, shows_rare=principal.may_read_records)


@router.delete("", status_code=204, operation_id="deleteTrainingData")
def forget_training_data(deployment: LockedDeployment, session: SessionIn, principal: Manager) -> None:
    """Deletes the uploaded training data."""
    changes = list_training_data_changes(require_summary(session, deployment), None)
    delete_training_data(session, deployment.no)
    record_activity(session, principal.actor, "training_data.deleted", deployment, details=changes)


def _read_subject(
    services: Services, principal: Principal, deployment_id: str
) -> tuple[Deployment, Monitor | None]:
    with services.database.transaction() as session:
        deployment = get_managed(principal, Deployments(session, services.secret_box), deployment_id)
        return deployment, find_monitor(session, deployment.no)


def _process(file: BinaryIO, upload: Upload) -> TrainingData:
    if upload.form is not TrainingForm.DISTRIBUTION:
        return process_file(file, upload)
    if upload.weight is not None:
        raise InvalidInput("weight", "is of files only: a ready distribution counts records")
    # Small: ready distributions have a limit of their own.
    body = file.read()
    require_strict(body)
    try:
        sent = TrainingDistributionsIn.model_validate_json(body).to_domain()
    except ValidationError as error:
        raise InvalidInput(field_problems(error.errors())) from error
    return process_distributions(
        sent,
        deployment=upload.deployment,
        label=upload.label,
        received_at=upload.received_at,
        monitor=upload.monitor,
    )


def _store(services: Services, principal: Principal, deployment: Deployment, data: TrainingData) -> None:
    with services.database.transaction() as session:
        present = get_locked(principal, Deployments(session, services.secret_box), deployment.id)
        # A deployment that was deleted and created again has the same id.
        if (present.no, present.schema) != (deployment.no, deployment.schema):
            raise Conflict(
                f"The columns of {deployment.id} were changed while the data were read. Nothing was stored; "
                "upload again."
            )
        changes = list_training_data_changes(find_training_summary(session, present.no), data.summary)
        store_training_data(session, deployment.no, data)
        record_activity(session, principal.actor, "training_data.replaced", present, details=changes)
