"""The route of bias detectors."""

from fastapi import APIRouter

from ..store.mitigation.bias_detectors import detector_page
from ..web.access import ReadableDeployment, SessionIn
from ..web.paging import ShortNumberPaging, cut
from .schemas.bias_detectors import BiasDetectorPage, TrainingOut

router = APIRouter(prefix="/v1/deployments/{deployment_id}/bias-detectors", tags=["mitigation"])


@router.get("")
def list_bias_detectors(
    deployment: ReadableDeployment,
    session: SessionIn,
    paging: ShortNumberPaging,
) -> BiasDetectorPage:
    """Returns the trainings of the deployment's bias detector, newest first, with the quality of each on the records held out.

    Empty while the detector is off, which is the default. A training that is refused says why.
    """
    found = detector_page(session, deployment.no, paging)
    trainings, next_cursor = cut(found, paging, lambda training: training[0].version)
    return BiasDetectorPage(trainings=[TrainingOut.of(training) for training in trainings], next_cursor=next_cursor)
