"""Corrections of stored labels and predictions."""

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from ...base.encodings import decode_parts
from ...base.errors import InvalidInput
from ...checks.result_queries import Corrected, Correction
from ...domain.cells import Json, parse_label, record_id, shown, string
from ...domain.record import Receipt, RecordConflict, Rejection
from ...intake.logging.decode_body import decoded_json, require_decodable
from ...intake.logging.ingest_plan import MAX_RECORDS, Checked, IngestPlan, RecordRefused, checked_cell
from ...intake.logging.log_request import find_warnings, read_lines
from ...intake.logging.native_records import read_members, read_optional
from .queries import MAX_CORRECTIONS, store_correction

MAX_REASON = 500

_COLUMNS = {"record_id": "record", "correction_id": "id"}

_REASONS = {
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
    """A line of a CSV, which has a charset, is a RecordRefused if it cannot be read.

    Raises InvalidInput, and TooLarge of far more than corrections need.
    """
    if charset is not None:
        header, *lines = read_lines("".join(decode_parts([body], charset, "body")))
        corrections = [_read_line(header, line, plan) for line in lines]
    else:
        require_decodable(body)
        sent = decoded_json(body)
        corrections = (
            sent["corrections"] if isinstance(sent, dict) and sent.keys() == {"corrections"} else sent
        )
    if not isinstance(corrections, list) or not 1 <= len(corrections) <= MAX_RECORDS:
        raise InvalidInput(
            "corrections",
            f"must be a list of 1 to {MAX_RECORDS:,}, as the only member of the body or as the body",
        )
    return corrections


def correct(session: Session, sent: Sequence[Json], plan: IngestPlan, *, by: str) -> Receipt:
    """One after the other; `accepted` counts those made. The deployment is locked."""
    checked = Checked(sent=len(sent))
    duplicate = 0
    conflicts = []
    for index, members in enumerate(sent):
        try:
            correction = _check(members, plan)
        except RecordRefused as refused:
            checked.rejections.append(refused.rejection(index))
            continue
        result = store_correction(session, plan.target, correction, by=by)
        reason = _REASONS.get(result.outcome, "").format(
            record=shown(correction.record_id),
            old=shown(correction.old),
            stored=shown(result.value),
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


def _read_line(
    header: Sequence[str], line: Sequence[str], plan: IngestPlan
) -> Mapping[str, Json] | RecordRefused:
    if len(line) != len(header):
        return RecordRefused("line", f"has {len(line)} values under {len(header)} columns")
    return {
        _COLUMNS.get(name, name): parse_label(
            cell, is_text=name not in ("old", "new") or plan.target.lists_texts
        )
        for name, cell in zip(header, line, strict=True)
    }


def _check(sent: Json, plan: IngestPlan) -> Correction:
    """Returns values as they are stored. Raises RecordRefused."""
    if isinstance(sent, RecordRefused):
        raise sent
    members = read_members(sent, frozenset({"id", "record", "what", "old", "new", "reason"}))
    if members.get("what") not in list(Corrected):
        raise RecordRefused("what", f"must be {' or '.join(Corrected)}, found {shown(members.get('what'))}")
    if "new" not in members:
        raise RecordRefused("new", "is missing; null takes the value away")
    reason = checked_cell("reason", string, members.get("reason") or "")
    if not reason.strip() or len(reason) > MAX_REASON:
        raise RecordRefused("reason", f"is needed: 1 to {MAX_REASON} characters, not only blanks")
    return Correction(
        id=read_optional("id", record_id, members),
        record_id=checked_cell("record", record_id, members.get("record")),
        what=Corrected(members["what"]),
        old=read_optional("old", plan.prediction, members),
        new=read_optional("new", plan.prediction, members),
        reason=reason,
    )
