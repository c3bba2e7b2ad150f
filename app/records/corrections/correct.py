"""Makes corrections of stored labels and predictions, and lists them."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb
from sqlalchemy import Row, text
from sqlalchemy.orm import Session

from ...access.audit.event_queries import insert_event
from ...base.encodings import decode_parts
from ...base.errors import InvalidInput
from ...checks.result_queries import Corrected, Correction
from ...domain.paging import Paging
from ...domain.record import (
    Json,
    Receipt,
    RecordConflict,
    Rejection,
    describe_value,
    digest_id,
    parse_label,
    read_record_id,
    read_string,
)
from ...intake.logging.decode_body import decode_json, require_decodable
from ...intake.logging.encode_lines import read_members, read_optional
from ...intake.logging.ingest_plan import MAX_RECORDS, CheckedRecords, IngestPlan, RecordRefused, check_cell
from ...intake.logging.log_request import find_warnings, read_csv_lines
from ...intake.writing.write_target import Target

MAX_CORRECTIONS = 1_000

# `earlier` is the correction of the same id or, without an id, the newest one of this value.
_MAKE_CORRECTION = text("""
    WITH stored AS (
        SELECT r.logged_at AS record_at, r.record_no, f.record_no AS labelled_no, f.usable_at,
               coalesce(r.logged_at, f.record_logged_at) AS logged_at,
               CASE WHEN :what = 'label' THEN f.label ELSE coalesce(r.label, r.prediction) END AS value,
               CAST(:old AS jsonb) AS old, CAST(:new AS jsonb) AS new,
               (SELECT records_months || CASE records_months WHEN 1 THEN ' month' ELSE ' months' END
                FROM retention_policies WHERE deployment_no = :no) AS retention
        FROM (SELECT) one
        LEFT JOIN payload_keys k ON k.deployment_no = :no AND k.record_id = :record_id
        LEFT JOIN payload_records r ON r.deployment_no = :no AND r.logged_at = k.logged_at
            AND r.record_no = k.record_no
        LEFT JOIN feedback_records f ON f.deployment_no = :no AND f.feedback_id = :record_id
    ), chain AS (
        SELECT count(*) AS corrections, max(made_at) AS previous_at
        FROM corrections WHERE deployment_no = :no AND record_id = :record_id AND what = :what
    ), earlier AS (
        SELECT record_id = :record_id AND what = :what AND reason = :reason
            AND coalesce(new, 'null') = CAST(:new AS jsonb) AS is_same
        FROM (
            SELECT * FROM corrections WHERE deployment_no = :no AND id = :id
            UNION ALL
            (SELECT * FROM corrections
             WHERE CAST(:id AS text) IS NULL AND deployment_no = :no AND record_id = :record_id
                 AND what = :what
             ORDER BY number DESC LIMIT 1))
    ), judged AS (
        SELECT *, CASE
            WHEN EXISTS (SELECT FROM erased_ids WHERE deployment_no = :no AND digest = :digest) THEN 'erased'
            WHEN value IS NULL AND record_no IS NOT NULL THEN 'without_label'
            WHEN value IS NULL AND retention IS NOT NULL AND labelled_no IS NOT NULL THEN 'gone'
            WHEN value IS NULL AND retention IS NOT NULL THEN 'past_retention'
            WHEN value IS NULL THEN 'not_stored'
            WHEN (SELECT is_same FROM earlier) THEN 'duplicate'
            WHEN CAST(:id AS text) IS NOT NULL AND EXISTS (SELECT FROM earlier) THEN 'other_content'
            WHEN old NOT IN ('null', value) THEN 'other_value'
            WHEN new = value THEN 'unchanged'
            WHEN corrections >= :most THEN 'too_many'
            ELSE 'corrected' END AS outcome
        FROM stored, chain
    ), due AS (
        SELECT * FROM judged WHERE outcome = 'corrected'
    ), label AS (
        UPDATE feedback_records f SET label = due.new FROM due
        WHERE :what = 'label' AND f.deployment_no = :no AND f.feedback_id = :record_id
    ), prediction AS (
        UPDATE payload_records r SET label = CASE WHEN r.label IS NOT NULL THEN due.new END,
            prediction = CASE WHEN r.label IS NULL OR due.new = 'null' THEN due.new ELSE r.prediction END
        FROM due
        WHERE :what = 'prediction' AND r.deployment_no = :no AND r.logged_at = due.record_at
            AND r.record_no = due.record_no
    ), hour AS (
        INSERT INTO changed_hours (deployment_no, hour)
        SELECT :no, date_trunc('hour', logged_at, 'UTC') FROM due WHERE logged_at IS NOT NULL
    ), made AS (
        INSERT INTO corrections (deployment_no, id, record_id, what, number, old, new, reason, made_by,
            previous_at, logged_at, usable_at)
        SELECT :no, :id, :record_id, :what, corrections + 1, nullif(value, 'null'), nullif(new, 'null'),
            :reason, :by, previous_at, logged_at, usable_at
        FROM due
    )
    SELECT outcome, value, retention FROM judged
""")
_PAGE = text("""
    SELECT no, id, record_id AS record, what, number, old, new, reason, made_by AS corrected_by,
        made_at AS corrected_at
    FROM corrections
    WHERE deployment_no = :no
        AND record_id IS NOT NULL
        AND (CAST(:record AS text) IS NULL OR record_id = :record)
        AND (CAST(:what AS text) IS NULL OR what = :what)
        AND (CAST(:since AS timestamptz) IS NULL OR made_at >= :since)
        AND (:after = 0 OR no < :after)
    ORDER BY no DESC LIMIT :limit
""")
_COUNT = text("""
    SELECT coalesce(json_object_agg(day, counts ORDER BY day DESC), '{}')
    FROM (SELECT day, json_object_agg(what, corrections) AS counts
          FROM (SELECT date(made_at AT TIME ZONE 'UTC') AS day, what, count(*) AS corrections FROM corrections
                WHERE deployment_no = :no GROUP BY 1, 2)
          GROUP BY day)
""")


def store_correction(session: Session, target: Target, correction: Correction, *, by: str) -> Row[Any]:
    """Replaces the value, if nothing speaks against it; notes the hour as changed, and an audit event without
    a value.

    Returns the outcome, the value that was stored, and for how long records are kept. The deployment is
    locked.
    """
    digest = digest_id(correction.record_id)
    values = asdict(correction) | {"old": Jsonb(correction.old), "new": Jsonb(correction.new)}
    values |= {"no": target.no, "digest": digest, "by": by, "most": MAX_CORRECTIONS}
    result = session.execute(_MAKE_CORRECTION, values).one()
    if result.outcome == "corrected":
        insert_event(
            session,
            actor=by,
            action="record.corrected",
            deployment_id=target.id,
            subject=digest.hex(),
            details={"what": correction.what, "reason": correction.reason},
        )
    return result


def page_corrections(
    session: Session,
    deployment_no: int,
    paging: Paging,
    *,
    record: str | None = None,
    what: Corrected | None = None,
    since: datetime | None = None,
) -> Sequence[Any]:
    values = asdict(paging) | {"no": deployment_no, "record": record, "what": what, "since": since}
    return session.execute(_PAGE, values).all()


def count_corrections_by_day(session: Session, deployment_no: int) -> Any:  # noqa: ANN401 - JSON
    """Counts by kind and day (UTC), newest first; those of erased records are among them."""
    return session.scalar(_COUNT, {"no": deployment_no})


MAX_REASON_CHARACTERS = 500

_MEMBER_OF_COLUMN = {"record_id": "record", "correction_id": "id"}

_REFUSALS = {
    "not_stored": "record {record} is not stored; a value that was never logged cannot be corrected",
    "erased": "record {record} was erased",
    "gone": "record {record} is gone: it is past its retention of {retention}",
    "past_retention": "record {record} is not stored: it was never logged, or is gone, past its retention "
    "of {retention}",
    "without_label": "record {record} has no label; log it as feedback",
    "other_content": "a correction of this id is stored already, with other content",
    "other_value": "old is {old}, stored is {stored}: nothing was changed",
    "unchanged": "is the stored value {stored}",
    "too_many": f"this value was corrected {MAX_CORRECTIONS:,} times, which is the most",
}


def read_corrections(body: bytes, charset: str | None, plan: IngestPlan) -> Sequence[Json]:
    """Reads corrections from a body: JSON, or CSV, which has a charset. A line that cannot be read is a
    RecordRefused.

    Raises InvalidInput, and TooLarge of far more than corrections need.
    """
    if charset is not None:
        header, *lines = read_csv_lines("".join(decode_parts([body], charset, "body")))
        corrections = [
            {
                _MEMBER_OF_COLUMN.get(name, name): parse_label(
                    cell, is_text=name not in ("old", "new") or plan.target.lists_texts
                )
                for name, cell in zip(header, line, strict=True)
            }
            if len(line) == len(header)
            else RecordRefused("line", f"has {len(line)} values under {len(header)} columns")
            for line in lines
        ]
    else:
        require_decodable(body)
        sent = decode_json(body)
        corrections = (
            sent["corrections"] if isinstance(sent, dict) and sent.keys() == {"corrections"} else sent
        )
    if not isinstance(corrections, list) or not 1 <= len(corrections) <= MAX_RECORDS:
        raise InvalidInput(
            "corrections",
            f"must be a list of 1 to {MAX_RECORDS:,}, as the only member of the body or as the body",
        )
    return corrections


def make_corrections(session: Session, sent: Sequence[Json], plan: IngestPlan, *, by: str) -> Receipt:
    """One after the other; `accepted` counts those made. The deployment is locked."""
    checked = CheckedRecords(sent=len(sent))
    duplicate = 0
    conflicts = []
    for index, members in enumerate(sent):
        try:
            correction = _read_correction(members, plan)
        except RecordRefused as refused:
            checked.rejections.append(refused.rejection(index))
            continue
        result = store_correction(session, plan.target, correction, by=by)
        reason = _REFUSALS.get(result.outcome, "").format(
            record=describe_value(correction.record_id),
            old=describe_value(correction.old),
            stored=describe_value(result.value),
            retention=result.retention,
        )
        if result.outcome == "corrected":
            (checked.labels if correction.what is Corrected.LABEL else checked.predictions).append(
                correction.new
            )
        elif result.outcome == "duplicate":
            duplicate += 1
        elif result.outcome in ("other_content", "other_value"):
            conflicts.append(RecordConflict(index, correction.record_id, reason))
        else:
            checked.rejections.append(
                Rejection(index, "new" if result.outcome == "unchanged" else "record", reason)
            )
    return Receipt(
        accepted=len(checked.labels) + len(checked.predictions),
        duplicate=duplicate,
        rejected=len(checked.rejections) + len(conflicts),
        rejections=tuple(checked.rejections),
        conflicts=tuple(conflicts),
        warnings=find_warnings(checked, plan),
    )


def _read_correction(sent: Json, plan: IngestPlan) -> Correction:
    if isinstance(sent, RecordRefused):
        raise sent
    members = read_members(sent, frozenset({"id", "record", "what", "old", "new", "reason"}))
    if members.get("what") not in list(Corrected):
        raise RecordRefused(
            "what", f"must be {' or '.join(Corrected)}, found {describe_value(members.get('what'))}"
        )
    if "new" not in members:
        raise RecordRefused("new", "is missing; null takes the value away")
    reason = check_cell("reason", read_string, members.get("reason") or "")
    if not reason.strip() or len(reason) > MAX_REASON_CHARACTERS:
        raise RecordRefused("reason", f"is needed: 1 to {MAX_REASON_CHARACTERS} characters, not only blanks")
    return Correction(
        id=read_optional("id", read_record_id, members),
        record_id=check_cell("record", read_record_id, members.get("record")),
        what=Corrected(members["what"]),
        old=read_optional("old", plan.prediction, members),
        new=read_optional("new", plan.prediction, members),
        reason=reason,
    )
