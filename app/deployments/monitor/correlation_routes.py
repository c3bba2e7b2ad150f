"""The route of features that are associated with a meta field."""

from typing import Annotated

from fastapi import APIRouter, Query

from ...access.gate.caller import SessionIn
from ...base.errors import InvalidInput
from ..deployment_in_address import ReadableDeployment
from ..training.queries import (
    RECOMMENDED_ABOVE,
    TrainingForm,
    read_associations,
    read_donor_features,
    require_summary,
)
from .correlation_bodies import CorrelatedFeatureOut, CorrelatedFeaturesOut
from .monitor_fit import find_chance_warning

router = APIRouter(prefix="/v1/deployments/{deployment_id}/correlated-features", tags=["training data"])


@router.get("")
def list_correlated_features(
    deployment: ReadableDeployment,
    session: SessionIn,
    attribute: Annotated[
        str, Query(max_length=200, pattern=r"^[^\x00]*$", description="A meta field.", examples=["Sex"])
    ],
    threshold: Annotated[
        float,
        Query(ge=0, le=1, description="Above which strength a feature that is above chance is recommended."),
    ] = RECOMMENDED_ABOVE,
) -> CorrelatedFeaturesOut:
    """Returns every feature of the model with its strength of association with a meta field in the training
    data, strongest first.

    Strengths are corrected for chance. Look here before you list features under `correlated_features` of a
    monitored attribute, and list all that are `recommended`, together. Looking switches nothing on.
    """
    if any(column.name == attribute for column in deployment.schema.features):
        raise InvalidInput(
            "attribute",
            f"{attribute!r:.210} is a feature, which the model sees itself; only meta fields are compared",
        )
    if deployment.schema.column(attribute) is None:
        raise InvalidInput("attribute", f"{attribute!r:.210} is not a meta field of the deployment")
    summary = require_summary(session, deployment)

    associations = read_associations(session, deployment.no, [attribute]).get(attribute)
    reason = None
    if associations is None and summary.form is TrainingForm.DISTRIBUTION:
        reason = (
            "the training data are a ready distribution, which has no rows to compare columns in; "
            "upload a file"
        )
    elif associations is None and attribute in summary.absent:
        reason = f"the training data have no column {attribute}; upload them with it"
    elif associations is None:
        reason = (
            "the training data were uploaded before correlated features were looked for; upload them again"
        )

    types_in_donors = read_donor_features(session, deployment.no).get(attribute, {})
    # A column whose type changed since the upload has no values of the present type.
    pickable_features = {
        column.name
        for column in deployment.schema.features
        if types_in_donors.get(column.name) is column.type
    }
    # Of those without a strength, first those that an earlier version listed.
    strongest_first = sorted(
        associations or (),
        key=lambda association: (
            association.strength is None,
            -(association.strength or 0),
            -(association.uncorrected or 0),
        ),
    )
    features = [
        CorrelatedFeatureOut.from_object(
            association,
            recommended=association.is_recommended(above=threshold),
            can_be_picked=association.feature in pickable_features,
            warning=find_chance_warning(attribute, association)
            if association.feature in pickable_features
            else None,
        )
        for association in strongest_first
    ]
    return CorrelatedFeaturesOut(attribute=attribute, threshold=threshold, reason=reason, features=features)
