"""Hash chain over the configuration and the checks of a period.

Each link is the SHA-256 of the link before it and of one part: the configuration, then each check as
queued, with window and measurements. A changed or deleted part breaks the chain at a link that names it.
Parts are digested in the database.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from sqlalchemy import text
from sqlalchemy.orm import Session

from ...base.values import frozen
from ...domain.check import Span
from ...domain.deployment import Deployment

CONFIGURATION = "configuration "
"""Prefix of parts that are configurations."""

START = "0" * 64
"""Link before the first."""

# Equal values are equal bytes: jsonb has one order of keys, float8 its shortest exact digits, times are
# seconds since 1970.
_CHECKS = """
    SELECT c.id, encode(sha256(convert_to(jsonb_build_array(
             c.trigger, c.state, extract(epoch FROM c.span_start), extract(epoch FROM c.span_end), c.reason,
                 c."window",
             c.monitor_version, c.model_revision, c.created_by, extract(epoch FROM c.finished_at),
                 m.measured)::text, 'UTF8')), 'hex')
    FROM checks c
    LEFT JOIN LATERAL (
      SELECT encode(sha256(string_agg(sha256(convert_to(ROW(extract(epoch FROM o.at), o.metric, o.data,
          o.scope, o.attribute, o."group",
               o.value, o.reason, o.lower, o.upper, o.interval_method, o.n, o.verdict, o.lower_limit,
                   o.upper_limit, o.carried_forward,
               o.definition, o.worst_of, o.chosen_lower, o.chosen_upper, o.details)::text,
               'UTF8')), ''::bytea ORDER BY o.no)), 'hex') AS measured
      FROM measurements o WHERE o.check_no = c.no) m ON true
    WHERE c.deployment_no = :no AND c.state IN ('succeeded', 'insufficient_data', 'failed')
      AND c.span_end > :start AND c.span_end <= :end
    ORDER BY c.no
"""
_CONFIGURATION = """
    SELECT encode(sha256(convert_to(jsonb_build_array(m.version, m.schedule, m.config)::text, 'UTF8')),
        'hex') AS monitor,
           encode(sha256(convert_to(jsonb_build_array(s.version, s.settings)::text, 'UTF8')), 'hex')
               AS mitigation,
           encode(sha256(convert_to(jsonb_build_array(p.problem_type, p.outputs, c.version, c.features,
               c.meta)::text, 'UTF8')), 'hex')
             AS model
    FROM (SELECT CAST(:no AS integer) AS no) d LEFT JOIN monitors m ON m.deployment_no = d.no
    LEFT JOIN mitigation_settings s ON s.deployment_no = d.no
    LEFT JOIN deployments p ON p.no = d.no
    LEFT JOIN deployment_schemas c ON c.deployment_no = p.no AND c.version = p.schema_version
"""


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
    values = {"no": deployment.no, "start": span.start, "end": span.end}
    configuration = session.execute(text(_CONFIGURATION), values).mappings().one()
    digests = [(f"{CONFIGURATION}{name}", str(digest)) for name, digest in configuration.items()]
    digests += [(f"check {check_id}", digest) for check_id, digest in session.execute(text(_CHECKS), values)]
    return tuple(join_parts(digests))


def find_last_link(chain: Sequence[ChainLink]) -> str:
    """Last link, which depends on every other."""
    return chain[-1].link if chain else START


def digest_json(value: object) -> str:
    """SHA-256 of a value as canonical JSON."""
    # Sorted, without blanks: equal values must have one digest.
    encoded = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(encoded.encode()).hexdigest()


def check_links(chain: Sequence[ChainLink]) -> Iterator[Difference]:
    """Yields the first link that does not follow from the one before it."""
    for link, computed in zip(chain, join_parts((link.part, link.digest) for link in chain), strict=True):
        if link != computed:
            yield Difference(
                link.part,
                "its link does not follow from the link before it: the file was changed, or a link was "
                "removed",
            )
            return


def compare_chains(reported: Sequence[ChainLink], present: Sequence[ChainLink]) -> Iterator[Difference]:
    now = {link.part: link.digest for link in present}
    then = {link.part: link.digest for link in reported}
    for name, digest in then.items():
        if name not in now:
            yield Difference(name, "was deleted since the report was made")
        elif now[name] != digest:
            yield Difference(name, "was changed since the report was made")
    for name in now:
        # A report of an earlier version has fewer parts of the configuration.
        if name not in then and not name.startswith(CONFIGURATION):
            yield Difference(name, "was added since the report was made")


def read_links(raw_links: object) -> tuple[ChainLink, ...]:
    """Links of a report's JSON; none where it has no chain of this form."""
    try:
        return msgspec.convert(raw_links, tuple[ChainLink, ...])
    except msgspec.ValidationError:
        # One link of another form refuses the chain: without it the others would look complete.
        return ()


def join_parts(digests: Iterable[tuple[str, str]]) -> Iterator[ChainLink]:
    before = START
    for name, digest in digests:
        # Digests have no line break, so no other parts make the same text.
        before = hashlib.sha256(f"{before}\n{name}\n{digest}".encode()).hexdigest()
        yield ChainLink(name, digest, before)
