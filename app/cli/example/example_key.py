"""The example's API key. Only hashes are stored, so each run creates a new one."""

from ...access.keys.key_text import create_key
from ...access.keys.queries import ApiKeys
from ...access.principals import Role
from ...database.engine import Database
from ...domain.paging import Paging

NAME = "evenhand example"
_PAGE = 500


def fresh_key(database: Database) -> str:
    """Creates an admin key, and revokes those of earlier runs that could not end in order."""
    revoke_keys(database)
    with database.transaction() as session:
        return create_key(session, role=Role.ADMIN, name=NAME)


def revoke_keys(database: Database) -> None:
    with database.transaction() as session:
        keys = ApiKeys(session)
        page = keys.page(Paging(_PAGE))
        while page:
            for key in page:
                if key.name == NAME and key.revoked_at is None:
                    keys.revoke(key.id)
            page = keys.page(Paging(_PAGE, page[-1].no))
