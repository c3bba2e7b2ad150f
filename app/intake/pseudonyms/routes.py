"""The route that gives the pseudonyms of values of protected columns."""

from fastapi import APIRouter

from ...access.audit.activity_queries import record_activity
from ...access.gate.caller import Manager, ServicesIn, SessionIn
from ...base.errors import FieldProblem, InvalidInput, refuse
from ...deployments.deployment_in_address import LockedDeployment
from ...deployments.queries import Deployments
from ...domain.deployment import StorageKind
from ...domain.record import CellRefused
from ..logging.protected_values import build_check
from .bodies import PseudonymsIn, PseudonymsOut

router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["deployments"])


@router.post("/pseudonyms")
def make_pseudonyms(
    body: PseudonymsIn,
    deployment: LockedDeployment,
    session: SessionIn,
    services: ServicesIn,
    principal: Manager,
) -> PseudonymsOut:
    """Returns the pseudonyms of values of a protected column. The values are not stored, and that somebody
    asked is.

    Monitors and filters name the pseudonyms, because the values are stored nowhere.
    """
    column = deployment.schema.column(body.column)
    if column is None or column.storage is None or column.storage.kind is not StorageKind.PSEUDONYM:
        raise InvalidInput("column", "is not a column of this deployment that is stored as pseudonyms")
    check = build_check(
        column, Deployments(session, services.secret_box).column_keys([deployment.no])[deployment.no]
    )
    pseudonyms = []
    faults = []
    for index, value in enumerate(body.values):
        try:
            pseudonyms.append(check(value))
        except CellRefused as error:
            faults.append(FieldProblem(f"values[{index}]", str(error)))
    refuse(faults)
    record_activity(
        session,
        principal.actor,
        "pseudonyms.made",
        deployment,
        subject=column.name,
        details={"values": len(pseudonyms)},
    )
    return PseudonymsOut(column=column.name, pseudonyms=pseudonyms)
