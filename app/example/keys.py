"""The example's API key. Only hashes are stored, so each run creates a new one."""

from ..security.keys import create_key
from ..security.principals import Role
from ..store.database.engine import Database
from ..store.people.api_keys import ApiKeys

NAME = "evenhand example"
_PAGE = 500


def fresh_key(database: Database) -> str:
    """Creates an admin key, and revokes those of earlier runs."""
    with database.transaction() as session:
        keys = ApiKeys(session)
        page = keys.page(after_no=0, limit=_PAGE)
        while page:
            for key in page:
                if key.name == NAME and key.revoked_at is None:
                    keys.revoke(key.id)
            page = keys.page(after_no=page[-1].no, limit=_PAGE)
        return create_key(session, role=Role.ADMIN, name=NAME)
