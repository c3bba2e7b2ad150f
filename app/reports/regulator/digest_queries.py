"""SHA-256 digests of checks and configurations, computed in the database."""

from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.orm import Session

from ...domain.check import Span

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


def digest_checks(session: Session, deployment_no: int, span: Span) -> Sequence[tuple[str, str]]:
    """Returns id and digest of each ended check that ends in (start, end], in order."""
    values = {"no": deployment_no, "start": span.start, "end": span.end}
    return [(row[0], row[1]) for row in session.execute(text(_CHECKS), values)]


def digest_configuration(session: Session, deployment_no: int) -> dict[str, str]:
    row = session.execute(text(_CONFIGURATION), {"no": deployment_no}).mappings().one()
    return {name: str(row[name]) for name in ("monitor", "mitigation", "model")}
