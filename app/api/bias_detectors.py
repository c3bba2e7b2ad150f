"""The route of bias detectors: what was trained, from how much, and how good it is. Checks train them."""

from typing import Annotated

from fastapi import APIRouter, Depends

from app.api.answers import problems_of_deployment
from app.api.schemas.bias_detectors import BiasDetectorPage, TrainingOut
from app.store.bias_detectors import detector_page
from app.web.access import ReadableDeployment, SessionIn
from app.web.paging import Limit, cut, number_behind

router = APIRouter(prefix="/v1/deployments/{deployment_id}/bias-detectors", tags=["mitigation"])


@router.get("", operation_id="listBiasDetectors", responses=problems_of_deployment())
def list_bias_detectors(
    deployment: ReadableDeployment, session: SessionIn, before_version: Annotated[int, Depends(number_behind)], limit: Limit = 100
) -> BiasDetectorPage:
    """The trainings of the deployment's bias detector, newest first, with the quality of each on the records held out.

    Empty while the detector is off, as it is unless switched on. A training that is refused says why.
    """
    found = detector_page(session, deployment.no, limit=limit + 1, before_version=before_version or None)
    trainings, next_cursor = cut(found, limit, lambda training: training[0].version)
    return BiasDetectorPage(trainings=[TrainingOut.of(training) for training in trainings], next_cursor=next_cursor)
