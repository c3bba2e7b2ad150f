"""Makes reports as files, queued ones in all forms; reads and verifies the files of regulators' reports."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from ...alerts.channels.channel import lock_channels
from ...alerts.channels.notification import build_message
from ...alerts.channels.notification_queries import queue_message
from ...base.errors import Conflict, InvalidInput, NotFound
from ...base.spreadsheets import escape_formula, write_cell
from ...base.values import frozen, frozen_by_name, read_number
from ...checks.queries import get_check
from ...database.engine import Database, Sealer, arrow_reader, current_time
from ...deployments.queries import Deployments
from ...domain.alert import Event
from ...domain.check import Span
from ...domain.deployment import Deployment
from ...retention.queries import read_retention_policy
from ..authors import name_author
from ..check_report import make_document, name_period
from ..document import Attachment, Document, Json, ReportStamp, write_pdf
from ..html_file import write_html
from ..kept.queries import KeptReport, KeptReportState, claim_report, fail_report, keep_report
from ..kept.schedules import find_schedule
from ..report_source import read_source
from .cover import extend_cover, list_chapters
from .embedded_data import is_whole, read_csv, read_html, read_pdf, seal_csv, seal_html, seal_pdf
from .report_data import (
    FORMAT,
    KIND,
    READABLE_FORMATS,
    ChainPart,
    Difference,
    compare_chains,
    digest_json,
    find_last_link,
    make_chain,
    read_chain,
    read_report,
)
from .sheets import PRESETS, ReportKind, SheetSelection, find_missing

MAX_ATTEMPTS = 3
ATTEMPTS_EXHAUSTED = (
    f"{MAX_ATTEMPTS} attempts to make the report did not come to its end, perhaps because memory ran out."
    " The logs of the workers say why. Ask for a report on the same period, or on a shorter one."
)


class ReportForm(StrEnum):
    """Formats of a regulator's report."""

    HTML = "html"
    PDF = "pdf"
    CSV = "csv"
    JSON = "json"


@frozen_by_name
class ReportOrder:
    """Order for a report on a period, or on the check that `wanted` names. Labels of a period count that were there
    before `labels_until` (None: the newest midnight).
    """

    deployment: Deployment
    span: Span
    wanted: SheetSelection
    made: ReportStamp
    has_annex: bool = False
    labels_until: datetime | None = None


@frozen
class ReportContent:
    """Report for people; one for a regulator also has `report`, its JSON."""

    document: Document
    report: Json | None

    @property
    def seal(self) -> str:
        if self.report is not None:
            return str(self.report["seal"])
        return hashlib.sha256(self.document.attachments[0].content).hexdigest()

    def write(self, form: str) -> bytes:
        if self.report is None:
            if form == ReportForm.JSON:
                return self.document.attachments[0].content
            return write_pdf(self.document) if form == ReportForm.PDF else write_html(self.document).encode()
        content, table = (attachment.content for attachment in self.document.attachments[-2:])
        match form:
            case ReportForm.PDF:
                return seal_pdf(write_pdf(self.document))
            case ReportForm.HTML:
                return seal_html(write_html(self.document).encode(), content)
            case _:
                return table if form == ReportForm.CSV else content


def read_content(database: Database, order: ReportOrder) -> ReportContent:
    """Reads everything in one transaction; drawing takes seconds, and comes after it.

    Raises:
        Conflict: a regulator's report needs a monitor, and records in the database.
        InvalidInput: an attribute or a control cannot be used, or the period is too long.
        NotFound: the check is there no more.
        Unavailable: the database does not answer.
    """
    sheets = order.wanted
    deployment = order.deployment
    with database.transaction() as session, arrow_reader(database) as reader:
        subject = (
            order.span if sheets.check_id is None else get_check(session, deployment.no, sheets.check_id)
        )
        source = read_source(
            session,
            reader,
            deployment,
            subject,
            now=order.made.at,
            zone=ZoneInfo(sheets.zone),
            labels_until=order.labels_until,
        )
        document = make_document(session, source, order.made, has_annex=order.has_annex)
        if sheets.kind is not ReportKind.REGULATOR:
            return ReportContent(document, None)
        report = read_report(session, reader, source, sheets) | {"missing": [], "elsewhere": []}
        if sheets.preset is not None:
            retention = read_retention_policy(session, deployment.no)
            missing = find_missing(
                sheets.preset, deployment, source.monitor, report["controls"], retention, sheets.categories
            )
            report["missing"] = list(map(asdict, missing))
            report["elsewhere"] = list(PRESETS[sheets.preset].elsewhere)
    # The seal leaves out the author and the time.
    report |= {"seal": digest_json(report), "made": {"at": order.made.at.isoformat(), "by": order.made.by}}
    return ReportContent(extend_document(document, report), report)


def extend_document(document: Document, report: Json) -> Document:
    """Adds the cover, the annex and the attachments of a regulator's report."""
    preset = report["preset"]
    attachments = (
        Attachment("report.json", "application/json", "All figures, and the hash chain", write_json(report)),
        Attachment("report.csv", "text/csv", "All figures of the sheets", write_csv(report)),
    )
    return replace(
        document,
        subtitle=document.subtitle + (f" · {PRESETS[preset].title}" if preset else ""),
        first=None if document.first is None else extend_cover(document.first, report, document.made),
        annex=[*document.annex, *list_chapters(report)],
        attachments=(*document.attachments, *attachments),
    )


def write_json(report: Json) -> bytes:
    """Writes JSON whose seal `evenhand report verify` computes again."""
    return (json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def write_csv(report: Json) -> bytes:
    """Writes one row a figure: sheet, table, category, name, value. Absent ones are empty.

    The last rows verify the file; their sheets are `report`, `chain` and `file`.
    """
    rows: list[Sequence[str]] = [("sheet", "attribute", "category", "figure", "value")]
    for sheet, content in (("population", report["population"]), *report["sheets"].items()):
        rows += [
            [escape_formula(cell) if read_number(cell) is None else cell for cell in row]
            for row in flatten_sheet(sheet, content)
        ]
    return seal_csv(rows, report)


def flatten_sheet(sheet: str, content: Json) -> Iterator[tuple[str, str, str, str, str]]:
    for name, value in content.items():
        if name != "tables":
            yield from ((sheet, "", "", *leaf) for leaf in _list_leaves(value, name))
            continue
        for table in value:
            table_figures = {
                member: figure for member, figure in table.items() if member not in {"attribute", "rows"}
            }
            yield from ((sheet, table["attribute"], "", *leaf) for leaf in _list_leaves(table_figures))
            for row in table["rows"]:
                title = "category" if "category" in row else "column"
                figures = {member: figure for member, figure in row.items() if member != title}
                yield from ((sheet, table["attribute"], row[title], *leaf) for leaf in _list_leaves(figures))


def _list_leaves(tree: Any, name: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401 - any JSON
    match tree:
        case dict():
            for key, value in tree.items():
                yield from _list_leaves(value, f"{name}.{key}" if name else key)
        case list() if all(isinstance(text, str) for text in tree):
            yield name, " ".join(tree)
        case list():
            for number, value in enumerate(tree, start=1):
                yield from _list_leaves(value, f"{name}.{number}")
        case bool() | None:
            yield name, write_cell(tree)
        case _:
            yield name, str(tree)


def make_next_report(database: Database, sealer: Sealer, *, token: str) -> bool:
    """Returns False if there is none. `token` is new for each call.

    Raises:
        LeaseLost: another worker took the report over; nothing was stored.
        Unavailable: the database went away; the report is taken over when its lease runs out.
    """
    with database.transaction() as session:
        report = claim_report(session, token=token)
        if report is None:
            return False
        try:
            deployment = Deployments(session, sealer).get_by_no(report.deployment_no)
        except NotFound:
            # It is being deleted, and the report with it.
            return True
        now = current_time(session)
        author = name_author(session, report.created_by)
    content = None
    reason = ATTEMPTS_EXHAUSTED
    if report.attempts <= MAX_ATTEMPTS:
        order = ReportOrder(
            deployment=deployment,
            span=report.span,
            wanted=report.wanted,
            made=ReportStamp(at=now.replace(microsecond=0), by=report.created_by, name=author),
        )
        try:
            content = read_content(database, order)
        except (Conflict, InvalidInput, NotFound) as error:
            # The monitor may have changed since the schedule was set.
            reason = str(error)
    files = {}
    if content is not None:
        forms = [form for form in ReportForm if content.report or form is not ReportForm.CSV]
        files = {form.value: content.write(form) for form in forms}
    with database.transaction() as session:
        if content is None:
            ended = fail_report(session, report, reason=reason)
        else:
            chain_head = None if content.report is None else content.report["chain_head"]
            ended = keep_report(session, report, files, seal=content.seal, chain_head=chain_head)
        announce_report(session, deployment, ended)
    return True


def announce_report(session: Session, deployment: Deployment, report: KeptReport) -> None:
    """Queues a message on each channel of the schedule, or that a person chose, in the transaction that ends
    the report.
    """
    schedule = None
    if report.schedule_id is not None:
        schedule = find_schedule(session, deployment.no, report.schedule_id)
        # Another schedule may have the id of a deleted one.
        schedule = schedule if schedule is not None and schedule.no == report.schedule_no else None
    channels = report.wanted.channels if schedule is None else schedule.content.channels
    channel_nos = lock_channels(session, channels)
    if not channel_nos:
        return
    period = name_period(report.span, ZoneInfo(report.wanted.zone))
    is_ready = report.state is KeptReportState.READY
    sentence = (
        f"The report on {deployment.name}, {period}, "
        f"{'is ready' if is_ready else f'could not be made: {report.reason}'}"
    )
    sentence = f"{sentence.removesuffix('.')}."
    message = build_message(Event.REPORT, now=current_time(session), sentence=sentence, display=sentence)
    message["type"] = f"report.{report.state.value}"
    message["report"] = {
        "id": report.id,
        "state": report.state,
        "deployment_id": deployment.id,
        "deployment_name": deployment.name,
        "schedule_id": None if schedule is None else schedule.id,
        "schedule_name": None if schedule is None else schedule.content.name,
        "sent_by": None
        if schedule is not None
        else name_author(session, report.created_by) or report.created_by,
        "start": report.span.start,
        "end": report.span.end,
        "seal": report.seal,
        "chain_head": report.chain_head,
        "path": f"/deployments/{deployment.id}/reports#kept",
    }
    queue_message(session, channel_nos, message)


CHANGED_FILE = (
    "its hash is not that of its content: the file was changed. Opening and saving a CSV in a "
    "spreadsheet changes it, too"
)


@frozen
class ReportInFile:
    """Report that was read from its file.

    `is_whole` compares the file with the hash at its end; None of JSON, which has only its seal.
    `has_figures` is false of CSV, whose figures are under the hash of the file, not the seal.
    """

    deployment_id: str
    span: Span
    chain: tuple[ChainPart, ...]
    content: Mapping[str, Any]
    is_whole: bool | None
    has_figures: bool


def read_report_file(content: bytes) -> ReportInFile:
    """Reads a file in any form.

    Raises:
        InvalidInput: it is not a report of a deployment, or one of another format version.
    """
    start = content.lstrip()[:20].lower()
    is_csv = start.startswith(b"sheet,attribute")
    embedded = content
    if start.startswith(b"%pdf"):
        embedded = read_pdf(content, opening=f'{{\n "kind": "{KIND}"'.encode())
    elif start.startswith(b"<"):
        embedded = read_html(content)
    try:
        report = read_csv(content) if is_csv else json.loads(embedded)
    except (UnicodeDecodeError, ValueError) as error:
        raise InvalidInput("file", "must be a report of a deployment as JSON, HTML, PDF or CSV") from error
    if not isinstance(report, dict) or report.get("kind") != KIND:
        raise InvalidInput(
            "file", "must be a report of `evenhand report --deployment`, and is another document"
        )
    if report.get("format") not in READABLE_FORMATS:
        raise InvalidInput(
            "file", f"must have a format up to {FORMAT}, and was made by another version of Evenhand"
        )
    try:
        period = report["period"]
        return ReportInFile(
            deployment_id=str(report["deployment"]["id"]),
            span=Span(
                start=datetime.fromisoformat(period["start"]), end=datetime.fromisoformat(period["end"])
            ),
            chain=read_chain(report["chain"]),
            content=report,
            is_whole=is_whole(content) if is_csv or embedded is not content else None,
            has_figures=not is_csv,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput("file", "lacks the deployment, the period or the chain of a report") from error


def find_file_differences(report: ReportInFile) -> Iterator[Difference]:
    """Compares hash, seal, and the end of the chain."""
    if report.is_whole is False:
        yield Difference("file", CHANGED_FILE)
    content = {name: value for name, value in report.content.items() if name not in {"seal", "made"}}
    if report.has_figures and report.content.get("seal") != digest_json(content):
        yield Difference("file", "its seal is not that of its content: a figure or a text was changed")
    # The seal is no signature: a forger may compute it again, but not the chain in the database.
    if report.content.get("chain_head") != find_last_link(report.chain):
        yield Difference(
            "file", "its chain does not end in the named link: a part was changed, removed or added"
        )


def find_database_differences(
    session: Session, deployment: Deployment, report: ReportInFile
) -> Iterator[Difference]:
    yield from compare_chains(report.chain, make_chain(session, deployment, report.span))
