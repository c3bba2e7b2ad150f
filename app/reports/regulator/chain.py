"""Hash chain over the configuration and the checks of a period.

Each link is the SHA-256 of the link before it and of one part: the configuration, then each check as queued, with window and
measurements. A changed or deleted part breaks the chain at a link that names it.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlalchemy.orm import Session

from ...domain.checks import Span
from ...domain.deployments import Deployment
from ...frozen import frozen
from ...store.checks.digests import digest_checks, digest_configuration

CONFIGURATION = "configuration "
"""Prefix of parts that are configurations."""

START = "0" * 64
"""Link before the first."""


@frozen
class ChainLink:
    """Name and digest of a part, and the link that it makes with the one before."""

    part: str
    digest: str
    link: str


@frozen
class Difference:
    """Part that is not as the report has it."""

    part: str
    message: str


def make_chain(session: Session, deployment: Deployment, span: Span) -> tuple[ChainLink, ...]:
    """Chain of the checks whose span ends in the period, and of the present configuration."""
    parts = [(f"{CONFIGURATION}{name}", digest) for name, digest in digest_configuration(session, deployment.no).items()]
    parts += [(f"check {check_id}", digest) for check_id, digest in digest_checks(session, deployment.no, span)]
    return tuple(join_parts(parts))


def head_of(chain: Sequence[ChainLink]) -> str:
    """Last link, which depends on every other."""
    return chain[-1].link if chain else START


def digest_json(value: object) -> str:
    """SHA-256 of a value as canonical JSON."""
    # Sorted, without blanks: equal values must have one digest.
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check_links(chain: Sequence[ChainLink]) -> Iterator[Difference]:
    """Yields the first link that does not follow from the one before it."""
    before = START
    for one in chain:
        if one.link != _link(before, one.part, one.digest):
            yield Difference(one.part, "its link does not follow from the link before it: the file was changed, or a link was removed")
            return
        before = one.link


def compare_chains(reported: Sequence[ChainLink], present: Sequence[ChainLink]) -> Iterator[Difference]:
    now: Mapping[str, str] = {one.part: one.digest for one in present}
    then: Mapping[str, str] = {one.part: one.digest for one in reported}
    for part, digest in then.items():
        if part not in now:
            yield Difference(part, "was deleted since the report was made")
        elif now[part] != digest:
            yield Difference(part, "was changed since the report was made")
    for part in now:
        # A report of an earlier version has fewer parts of the configuration.
        if part not in then and not part.startswith(CONFIGURATION):
            yield Difference(part, "was added since the report was made")


def read_links(found: object) -> tuple[ChainLink, ...]:
    """Links of a report's JSON; none where it has no chain of this form."""
    if not isinstance(found, list):
        return ()
    links = [one for one in found if isinstance(one, dict) and all(isinstance(one.get(name), str) for name in ("part", "digest", "link"))]
    # One link of another form refuses the chain: without it the others would look complete.
    return tuple(ChainLink(one["part"], one["digest"], one["link"]) for one in links) if len(links) == len(found) else ()


def join_parts(parts: Iterable[tuple[str, str]]) -> Iterator[ChainLink]:
    before = START
    for part, digest in parts:
        before = _link(before, part, digest)
        yield ChainLink(part, digest, before)


def _link(before: str, part: str, digest: str) -> str:
    # Digests have no line break, so no other parts make the same text.
    return hashlib.sha256(f"{before}\n{part}\n{digest}".encode()).hexdigest()
