"""Data of a regulator's report, unrounded, for all formats; and the hash chain over its checks."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

import msgspec
import numpy as np
from sqlalchemy import text
from sqlalchemy.orm import Session

from ... import VERSION
from ...base.errors import Conflict, InvalidInput
from ...base.values import frozen, quote_names
from ...checks.result_queries import count_not_stored
from ...database.engine import ArrowReader
from ...deployments.monitor.queries import find_monitor
from ...domain.check import Span
from ...domain.deployment import Deployment, FieldKind
from ...domain.monitor import Monitor, describe_outcome
from ...sources.stored.window_queries import RevisionCount, count_revisions, count_without_label
from ...statistics.group_labels import ComparedGroup
from ...statistics.selections.category_people import require_mappings
from ...statistics.selections.four_fifths import MIN_SHARE_OF_PEOPLE
from ...statistics.sentences.left_out import add_lost_records, count_records
from ..canonical import encode_canonical
from ..document import Json
from ..report_source import ReportSource
from ..sections.second_page import LIMITS as LIMITS_OF_FIGURES
from .clauses import CLAUSES, NOT_LEGAL_ADVICE
from .sheet_parts import PeopleOrder, SheetParts, choose_attributes, read_people
from .sheets import PeriodSheet, SheetSelection

CONFIGURATION = "configuration "
"""Prefix of the parts of a chain that are configurations."""

FIRST_LINK = "0" * 64
"""Link before the first part of a chain."""

# Equal values are equal bytes: jsonb has one order of keys, float8 its shortest exact digits, times are
# seconds since 1970.
_CHECK_DIGESTS = """
    SELECT c.id, encode(sha256(convert_to(jsonb_build_array(
        c.trigger, c.state, extract(epoch FROM c.span_start), extract(epoch FROM c.span_end), c.reason,
        c."window", c.monitor_version, c.model_revision, c.created_by, extract(epoch FROM c.finished_at),
        m.digest)::text, 'UTF8')), 'hex')
    FROM checks c
    LEFT JOIN LATERAL (
        SELECT encode(sha256(string_agg(sha256(convert_to(ROW(
            extract(epoch FROM o.at), o.metric, o.data, o.scope, o.attribute, o."group",
            o.value, o.reason, o.lower, o.upper, o.interval_method, o.n, o.verdict,
            o.lower_limit, o.upper_limit, o.carried_forward, o.definition,
            o.worst_of, o.chosen_lower, o.chosen_upper, o.details)::text, 'UTF8')),
            ''::bytea ORDER BY o.no)), 'hex') AS digest
        FROM measurements o
        WHERE o.check_no = c.no) m ON true
    WHERE c.deployment_no = :no
      AND c.state IN ('succeeded', 'insufficient_data', 'failed')
      AND c.span_end > :start
      AND c.span_end <= :end
    ORDER BY c.no
"""
_CONFIGURATION_DIGESTS = """
    SELECT
        encode(sha256(convert_to(jsonb_build_array(
            m.version, m.schedule, m.config)::text, 'UTF8')), 'hex') AS monitor,
        encode(sha256(convert_to(jsonb_build_array(
            s.version, s.settings)::text, 'UTF8')), 'hex') AS mitigation,
        encode(sha256(convert_to(jsonb_build_array(
            p.problem_type, p.outputs, c.version, c.features, c.meta)::text, 'UTF8')), 'hex') AS model
    FROM (SELECT CAST(:no AS integer) AS no) d
    LEFT JOIN monitors m ON m.deployment_no = d.no
    LEFT JOIN mitigation_settings s ON s.deployment_no = d.no
    LEFT JOIN deployments p ON p.no = d.no
    LEFT JOIN deployment_schemas c ON c.deployment_no = p.no AND c.version = p.schema_version
"""


@frozen
class ChainPart:
    """Check or configuration, with the SHA-256 of what is stored of it."""

    part: str
    digest: str


@frozen
class Difference:
    part: str
    message: str


def make_chain(session: Session, deployment: Deployment, span: Span) -> tuple[ChainPart, ...]:
    """Chains the checks whose span ends in the period, and the present configuration."""
    values = {"no": deployment.no, "start": span.start, "end": span.end}
    configuration = session.execute(text(_CONFIGURATION_DIGESTS), values).mappings().one()
    checks = session.execute(text(_CHECK_DIGESTS), values)
    return (
        *(ChainPart(f"{CONFIGURATION}{name}", str(digest)) for name, digest in configuration.items()),
        *(ChainPart(f"check {check_id}", digest) for check_id, digest in checks),
    )


def find_last_link(chain: Sequence[ChainPart]) -> str:
    """Computes the last link; each is the SHA-256 of the one before, and of the name and digest of a part."""
    link = FIRST_LINK
    for entry in chain:
        # Digests have no line break, so no other parts make the same text.
        link = hashlib.sha256(f"{link}\n{entry.part}\n{entry.digest}".encode()).hexdigest()
    return link


def digest_json(value: object) -> str:
    """Computes the SHA-256 of a value as canonical JSON."""
    return hashlib.sha256(encode_canonical(value)).hexdigest()


def compare_chains(reported: Sequence[ChainPart], present: Sequence[ChainPart]) -> Iterator[Difference]:
    present_digests = {entry.part: entry.digest for entry in present}
    reported_digests = {entry.part: entry.digest for entry in reported}
    for name, digest in reported_digests.items():
        if name not in present_digests:
            yield Difference(name, "was deleted since the report was made")
        elif present_digests[name] != digest:
            yield Difference(name, "was changed since the report was made")
    for name in present_digests:
        # A report of an earlier version has fewer parts of the configuration.
        if name not in reported_digests and not name.startswith(CONFIGURATION):
            yield Difference(name, "was added since the report was made")


def read_chain(stored: object) -> tuple[ChainPart, ...]:
    """Reads the chain of a report's JSON; empty where it has no chain of this form."""
    try:
        return msgspec.convert(stored, tuple[ChainPart, ...])
    except msgspec.ValidationError:
        # One part of another form refuses the chain: without it the others would look complete.
        return ()


KIND = "evenhand-regulator-report"
FORMAT = 9
"""Grows with every change of a member."""

READABLE_FORMATS = range(1, FORMAT + 1)
"""Formats whose seal and chain this version can verify."""

UNEQUALLY_SAMPLED = (
    "records of the period are of different shares of the traffic, and these tables would count each record "
    "once; choose a period in which one share was logged"
)

LIMITS = (
    (
        "Tables count records. Where a person has several, the person counts several times, and intervals "
        "and tests are too sure."
    ),
    (
        "The tests of many categories and tables are not corrected for their number: about one in twenty is "
        "significant by chance alone."
    ),
    (
        "A control explains a difference only where decisions may depend on it, and where the attribute does "
        "not shape it itself."
    ),
    *LIMITS_OF_FIGURES,
)


def read_report(
    session: Session, reader: ArrowReader, source: ReportSource, selection: SheetSelection
) -> Json:
    """Reads the data of a report, without the time of making.

    Raises:
        Conflict: the deployment has no monitor, or its records lie in your own tables.
        InvalidInput: an attribute or a control cannot be used, or the period is too long.
    """
    deployment = source.deployment
    span = source.span
    monitor = require_monitor(session, deployment)
    features = choose_attributes(monitor, selection.attributes)
    controls = choose_controls(deployment, monitor, selection)
    with_scores = any(selection.tool in sheet.row.scored for sheet in selection.sheets)
    order = PeopleOrder(
        features, controls, with_scores, selection.categories, selection.tool, bool(selection.attributes)
    )
    people = read_people(reader, deployment, monitor, span, order)
    chain = make_chain(session, deployment, span)
    logged = count_revisions(reader, deployment.no, span)
    revisions = Counter[str]()
    for count in logged:
        revisions[count.model_revision] += count.records
    sampling = describe_sampling(logged)
    parts = SheetParts(
        session=session,
        reader=reader,
        monitor=monitor,
        order=order,
        people=people,
        source=source,
        logged=logged,
        no_counts=UNEQUALLY_SAMPLED if sampling is not None and sampling["is_unequal"] else None,
    )
    return {
        "kind": KIND,
        "format": FORMAT,
        "deployment": {name: getattr(deployment, name) for name in ("id", "name", "owner", "purpose")},
        "period": {"start": span.start.isoformat(), "end": span.end.isoformat()},
        "preset": selection.preset,
        "software": f"Evenhand {VERSION}",
        "monitor": {
            "version": monitor.version,
            "favourable": list(map(describe_outcome, monitor.outcomes.favourable)),
            "unfavourable": list(map(describe_outcome, monitor.outcomes.unfavourable)),
        },
        "attributes": list(features),
        "categories": list(map(asdict, selection.categories)),
        "controls": list(controls),
        "revisions": [{"model_revision": name, "records": records} for name, records in revisions.items()],
        "population": describe_population(parts),
        "sheets": {
            sheet.value: sheet.row.make_content(parts) for sheet in PeriodSheet if sheet in selection.sheets
        },
        "limits": list(LIMITS),
        "clauses": msgspec.to_builtins(CLAUSES),
        "notice": NOT_LEGAL_ADVICE,
        "chain_head": find_last_link(chain),
        "chain": list(map(asdict, chain)),
    }


def require_monitor(session: Session, deployment: Deployment) -> Monitor:
    """Returns the monitor that a report needs.

    Raises:
        Conflict: there is none, or the records lie in your own tables.
    """
    if deployment.payload is not None:
        raise Conflict(
            f"The records of {deployment.id} lie in your own tables, and this report counts records in "
            "Evenhand's database. Export a period of them as CSV, then use `evenhand report --from-csv`."
        )
    monitor = find_monitor(session, deployment.no)
    if monitor is None:
        raise Conflict(
            f"Deployment {deployment.id} has no fairness monitor, which says which outcomes are favourable. "
            "Set one first."
        )
    return monitor


def choose_controls(deployment: Deployment, monitor: Monitor, selection: SheetSelection) -> tuple[str, ...]:
    """Chooses the columns that the order names, or else the monitor's strata.

    Raises:
        InvalidInput: one is not a column, or is an attribute of the report; or a mapping does not fit.
    """
    features = choose_attributes(monitor, selection.attributes)
    controls = tuple(dict.fromkeys(selection.controls)) or (
        () if monitor.strata is None else (monitor.strata,)
    )
    require_columns(deployment, controls)
    require_mappings(selection.categories)
    for mapping in selection.categories:
        path = f"categories.{mapping.attribute}"
        if mapping.values and mapping.attribute not in features:
            raise InvalidInput(path, f"is not an attribute of the report, which has {quote_names(features)}")
        for name in mapping.weights:
            column = deployment.schema.column(name)
            if column is None or column.kind is not FieldKind.NUMERIC:
                raise InvalidInput(path, f"{name!r} is not a column of numbers of the deployment")
    clash = next((name for name in controls if name in features), None)
    if clash is not None:
        raise InvalidInput("control", f"{clash} is an attribute of the report and cannot be its own control")
    return controls


def require_columns(deployment: Deployment, controls: Iterable[str]) -> None:
    """Refuses unknown columns.

    Raises:
        InvalidInput: one is not a column of the deployment.
    """
    for name in controls:
        if deployment.schema.column(name) is None:
            raise InvalidInput("control", f"{name!r} is not a column of the deployment")


def describe_population(parts: SheetParts) -> Json:
    people = parts.people
    assessed = people.is_assessed
    deployment = parts.source.deployment
    span = parts.source.span
    not_stored = count_not_stored(parts.session, deployment.no, span)
    by_attribute = []
    for attribute in people.attributes:
        sizes = [
            people.count((attribute.codes == position) & assessed)
            for position in range(len(attribute.labels))
        ]
        small_categories = [
            label
            for label, size in zip(attribute.labels, sizes, strict=True)
            if 0 < size < MIN_SHARE_OF_PEOPLE * sum(sizes)
        ]
        records = count_records(
            attribute.feature,
            [
                ComparedGroup(label, "reference" if role == "reference" else "monitored")
                for label, role in zip(attribute.labels, attribute.roles, strict=True)
            ],
            attribute.codes,
            people.outcomes,
            answers="predictions",
            lacks_answer=np.zeros(len(attribute.codes), np.bool_),
            lacks_value=attribute.codes < 0,
            repeats=people.records,
        ).to_json()
        records_with_losses = add_lost_records(
            records, rejected=not_stored.rejected, dropped=not_stored.not_received, erased=not_stored.erased
        )
        by_attribute.append(
            {
                "attribute": attribute.feature,
                "records": records_with_losses,
                "under_2_percent": small_categories,
            }
        )
    return {
        "logged": sum(count.records for count in parts.logged),
        "in_report": people.count(assessed),
        "selected": people.count(people.is_selected),
        "not_in_report": {
            "other_schema_version": sum(
                count.records for count in parts.logged if count.schema_version != deployment.schema.version
            ),
            "sampled_out": not_stored.sampled_out,
        },
        "by_attribute": by_attribute,
        "without_label": count_without_label(parts.reader, deployment.no, span),
        "sampling": describe_sampling(parts.logged),
    }


def describe_sampling(logged: Sequence[RevisionCount]) -> Json | None:
    """Describes the shares of the traffic that the records are of; None if all was logged."""
    lowest_rate = min((count.lowest_rate for count in logged), default=1.0)
    highest_rate = max((count.highest_rate for count in logged), default=1.0)
    if lowest_rate == 1:
        return None
    is_unequal = not math.isclose(lowest_rate, highest_rate, rel_tol=1e-9)
    return {"lowest_rate": lowest_rate, "highest_rate": highest_rate, "is_unequal": is_unequal}
