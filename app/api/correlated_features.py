"""The route of correlated features: what the model could know a meta field by."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.answers import problems_of_deployment
from app.api.schemas.correlated_features import CorrelatedFeaturesOut, correlated_feature
from app.domain.deployments import RecordSchema
from app.domain.training_data import RECOMMENDED_ABOVE, Association, TrainingForm, TrainingSummary
from app.errors import InvalidInput, NotFound
from app.store.correlations import associations_of, donor_features_of
from app.store.training_data import training_summary_of
from app.web.access import ReadableDeployment, SessionIn

router = APIRouter(prefix="/v1/deployments/{deployment_id}/correlated-features", tags=["training data"])

NO_ROWS = "the training data are a ready distribution, which has no rows to compare columns in; upload a file"
EARLIER = "the training data were uploaded before correlated features were looked for; upload them again"


@router.get("", operation_id="listCorrelatedFeatures", responses=problems_of_deployment())
def list_correlated_features(
    deployment: ReadableDeployment,
    session: SessionIn,
    attribute: Annotated[str, Query(max_length=200, pattern=r"^[^\x00]*$", description="A meta field.", examples=["Sex"])],
    threshold: Annotated[
        float, Query(ge=0, le=1, description="Above which strength a feature that is above chance is recommended.")
    ] = RECOMMENDED_ABOVE,
) -> CorrelatedFeaturesOut:
    """Every feature of the model by how strongly it goes together with a meta field in the training data, the strongest first.

    Strengths are corrected for chance. Look here before you list features under `correlated_features` of a monitored attribute, and list
    all that are `recommended`, together. Nothing is switched on by looking.
    """
    _require_meta(attribute, deployment.schema)
    summary = training_summary_of(session, deployment.no)
    if summary is None:
        raise NotFound("training data of the deployment", deployment.id)
    found = associations_of(session, deployment.no, [attribute]).get(attribute)
    donated = donor_features_of(session, deployment.no).get(attribute, {})
    pickable = {column.name for column in deployment.schema.features if donated.get(column.name) is column.type}
    strongest_first = sorted(found or (), key=_order)
    return CorrelatedFeaturesOut(
        attribute=attribute,
        threshold=threshold,
        reason=_absent(attribute, summary) if found is None else None,
        features=[
            correlated_feature(attribute, one, threshold=threshold, can_be_picked=one.feature in pickable) for one in strongest_first
        ],
    )


def _order(one: Association) -> tuple[bool, float, float]:
    """The strongest first; of those without a strength the ones that an earlier version found to be strongest."""
    return one.strength is None, -(one.strength or 0), -(one.uncorrected or 0)


def _require_meta(attribute: str, schema: RecordSchema) -> None:
    if any(column.name == attribute for column in schema.features):
        raise InvalidInput.of("attribute", f"{attribute!r:.210} is a feature, which the model sees itself; only meta fields are compared")
    if schema.column(attribute) is None:
        raise InvalidInput.of("attribute", f"{attribute!r:.210} is not a meta field of the deployment")


def _absent(attribute: str, summary: TrainingSummary) -> str:
    if summary.form is TrainingForm.DISTRIBUTION:
        return NO_ROWS
    if attribute in summary.absent:
        return f"the training data have no column {attribute}; upload them with it"
    return EARLIER
