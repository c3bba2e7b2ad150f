"""Routes of the limits of API keys."""

from fastapi import APIRouter

from ..domain.changes import changes_between
from ..domain.key_limits import KeyLimits
from ..store.people.activities import record_activity
from ..store.people.api_keys import ApiKeys
from ..store.people.key_limits import limits_of, put_limits
from ..views.key_use import read_key_use
from ..web.access import Admin, SessionIn
from .answers import NOT_FOUND
from .keys import KeyId
from .schemas.key_limits import KeyLimitsIn, KeyLimitsOut, KeyUseOut, KeyUsePage

router = APIRouter(prefix="/v1", tags=["API keys"])


@router.get("/api-keys/{key_id}/limits", responses=NOT_FOUND)
def read_key_limits(key_id: KeyId, _admin: Admin, session: SessionIn) -> KeyLimitsOut:
    """Returns the limits of a key."""
    return KeyLimitsOut.from_object(limits_of(session, ApiKeys(session).get(key_id).id))


@router.put("/api-keys/{key_id}/limits", responses=NOT_FOUND)
def put_key_limits(key_id: KeyId, body: KeyLimitsIn, admin: Admin, session: SessionIn) -> KeyLimitsOut:
    """Sets the limits of a key on logging records. They apply within 5 seconds; callers beyond them get 429 or 507 with `Retry-After`."""
    stored = ApiKeys(session).get(key_id)
    before, after = limits_of(session, stored.id), body.read_as(KeyLimits)
    put_limits(session, stored.id, after)
    if before != after:
        names = ("requests_per_second", "records_per_second", "max_bytes")
        old, new = ({name: getattr(limits, name) for name in names} for limits in (before, after))
        record_activity(session, admin.actor, "api_key.limited", subject=stored.id, details=changes_between(old, new))
    return KeyLimitsOut.from_object(after)


@router.get("/key-use")
def list_key_use(_admin: Admin, session: SessionIn) -> KeyUsePage:
    """Returns what the keys used of the routes that log records, next to their limits; some seconds old."""
    return KeyUsePage(
        keys=[
            KeyUseOut.from_object(one.use, key_id=one.key_id, name=one.name, limits=KeyLimitsOut.from_object(one.limits))
            for one in read_key_use(session)
        ]
    )
