"""The example's API key. Only hashes of keys are stored, so a second run cannot show the first one's: it makes a new one."""

from app.security.keys import create_key
from app.security.principals import Role
from app.store.api_keys import ApiKeys
from app.store.engine import Database

NAME = "evenhand example"
_PAGE = 500


def fresh_key(database: Database) -> str:
    """The text of a new admin key. Those of earlier runs are revoked."""
    with database.transaction() as session:
        keys = ApiKeys(session)
        page = keys.page(after_no=0, limit=_PAGE)
        while page:
            for key in page:
                if key.name == NAME and key.revoked_at is None:
                    keys.revoke(key.id)
            page = keys.page(after_no=page[-1].no, limit=_PAGE)
        return create_key(session, role=Role.ADMIN, name=NAME)
