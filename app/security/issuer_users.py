"""People and programs of the issuer as users here, stored when first seen."""

from sqlalchemy.orm import Session

from ..domain.changes import changes_between
from ..errors import Forbidden, Unauthenticated
from ..store.people import users
from ..store.people.activities import record_activity
from ..store.people.users import User
from .oidc.claims import Identity
from .principals import USER


def admit_user(session: Session, identity: Identity, *, is_log_in: bool) -> User:
    """Returns the user of an identity. A log-in renews the stored role and deployment; a bearer token has its own and changes nothing.

    Raises:
    Unauthenticated: the user is disabled here.
    Forbidden: the identity's deployment does not exist.
    """
    no = bound_number(session, identity)
    grant = {"role": identity.grant.role.value, "deployment": identity.grant.deployment_id}
    user = users.find_of_issuer(session, identity.issuer, identity.subject)
    if user is None:
        for name in (identity.name, identity.distinct_name):
            facts = {"issuer": identity.issuer, "subject": identity.subject, "role": identity.grant.role.value, "deployment_no": no}
            if users.add_of_issuer(session, name, **facts):  # type: ignore[arg-type]
                details = changes_between(None, {**grant, "issuer": identity.issuer})
                record_activity(session, f"{USER}{name}", "user.created", subject=name, details=details)
                break
        user = users.find_of_issuer(session, identity.issuer, identity.subject)
    if user is None or user.disabled_at is not None:
        raise Unauthenticated("This user is disabled. Ask an admin.")
    if is_log_in and (user.role, user.deployment_no) != (identity.grant.role.value, no):
        users.set_grant(session, user, role=identity.grant.role.value, deployment_no=no)
        details = changes_between({"role": user.role, "deployment": user.deployment_id}, grant)
        record_activity(session, f"{USER}{user.name}", "user.changed", subject=user.name, details=details)
    return user


def bound_number(session: Session, identity: Identity) -> int | None:
    """Returns the number of the deployment that the identity is bound to; None for all.

    Raises:
    Forbidden: there is no such deployment. Without it, the role would be one for all.
    """
    wanted = identity.grant.deployment_id
    if wanted is None:
        return None
    no = users.number_of_deployment(session, wanted)
    if no is None:
        raise Forbidden(f"Your role is for the deployment {wanted}, which does not exist here.")
    return no
