"""The example's API key. Only hashes are stored, so each run creates a new one."""

from ...access.keys.queries import create_key, page_keys, revoke_key
from ...access.principals import Role
from ...database.engine import Database
from ...domain.paging import Paging

NAME = "evenhand example"
_PAGE = 500


def fresh_key(database: Database) -> str:
    revoke_keys(database)
    with database.transaction() as session:
        return create_key(session, role=Role.ADMIN, name=NAME)


def revoke_keys(database: Database) -> None:
    with database.transaction() as session:
        page = page_keys(session, Paging(_PAGE))
        while page:
            for key in page:
                if key.name == NAME and key.revoked_at is None:
                    revoke_key(session, key.id)
            page = page_keys(session, Paging(_PAGE, page[-1].no))
