"""Ids that hold facts of their own, sealed: nobody can make one up, and nothing has to be stored for it."""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from ..errors import SetupError
from ..services import Services


def seal_id(services: Services, facts: Mapping[str, Any]) -> str:
    """Returns an id that holds the facts."""
    return base64.urlsafe_b64encode(services.secret_box.seal(json.dumps(facts).encode())).decode().rstrip("=")


def unseal_id(services: Services, identifier: str) -> Mapping[str, Any] | None:
    """Returns the facts of an id; None if it was not given out here."""
    try:
        sealed = base64.b64decode(identifier + "=" * (-len(identifier) % 4), altchars=b"-_", validate=True)
        found: Mapping[str, Any] = json.loads(services.secret_box.unseal(sealed))
    except (binascii.Error, ValueError, SetupError):
        return None
    return found
