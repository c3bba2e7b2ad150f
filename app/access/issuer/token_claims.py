"""Roles and names of people and programs, from the claims of a verified token."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from ...base.errors import Forbidden
from ...base.frozen import frozen, frozen_by_name
from ..principals import Role
from .issuer_configuration import ClaimRule, OidcConfiguration

_ORDER = (Role.INGEST, Role.AGGREGATES, Role.READ, Role.MANAGE, Role.ADMIN)
_OTHER = re.compile(r"[^a-z0-9._@-]+", re.ASCII)
_LONGEST_NAME = 48
"""Max characters of a name from a claim; the rest of a user's name distinguishes two of the same."""


@frozen
class Grant:
    """A role, for one deployment or for all."""

    role: Role
    deployment_id: str | None


@frozen_by_name
class Identity:
    """Somebody known to the issuer. `subject` is unique there and never given to anybody else; `name` is
    neither.
    """

    issuer: str
    subject: str
    name: str
    grant: Grant

    @property
    def distinct_name(self) -> str:
        """The name with a mark that nobody else has."""
        return f"{self.name}-{hashlib.sha256(f'{len(self.issuer)} {self.issuer}{self.subject}'.encode()).hexdigest()[:12]}"


def identify(claims: Mapping[str, Any], configuration: OidcConfiguration, *, for_pages: bool) -> Identity:
    """Returns the holder of a verified token. The highest role counts; of rules that give it, one for all
    deployments.

    Raises:
    Forbidden: no rule gives a role, or rules give the same one for several deployments and none for all.
    """
    matching = [rule for rule in configuration.rules if rule.value in read_claim(claims, rule.claim)]
    if for_pages:
        matching = [rule for rule in matching if rule.role is not Role.INGEST]
    if not matching:
        raise Forbidden(
            "The issuer says who you are, and nothing that gives you a role here. Ask an admin for the "
            "group or role that does."
        )
    subject = str(claims["sub"])
    sent = min(read_claim(claims, configuration.name_claim), default="") or subject
    name = _OTHER.sub("-", sent.lower()).strip("._@-")[:_LONGEST_NAME] or "unnamed"
    return Identity(issuer=configuration.issuer, subject=subject, name=name, grant=_choose(matching))


def read_claim(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """Returns the texts of a claim: one, or those of a list. A claim whose name has dots comes before a
    path with the same text.
    """
    claim: object = claims.get(name)
    if claim is None:
        claim = claims
        for step in name.split("."):
            claim = claim.get(step) if isinstance(claim, Mapping) else None
    several = claim if isinstance(claim, list | tuple) else [claim]
    return frozenset(text for text in several if isinstance(text, str))


def _choose(rules: list[ClaimRule]) -> Grant:
    highest = max((rule.role for rule in rules), key=_ORDER.index)
    deployments = {rule.deployment for rule in rules if rule.role is highest}
    if None in deployments:
        return Grant(highest, None)
    if len(deployments) > 1:
        named = ", ".join(sorted(str(deployment) for deployment in deployments))
        raise Forbidden(
            f"Your groups give you the role {highest.value} for several deployments ({named}). A person is "
            "bound to one, or to none."
        )
    return Grant(highest, deployments.pop())
