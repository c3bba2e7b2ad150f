"""Verifies a regulator's report in any form, by itself and against the database."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from ...base.errors import InvalidInput
from ...base.values import frozen
from ...domain.check import Span
from ...domain.deployment import Deployment
from .check_chain import (
    ChainLink,
    Difference,
    check_links,
    compare_chains,
    digest_json,
    find_last_link,
    join_parts,
    make_chain,
    read_links,
)
from .embedded_data import is_whole, read_csv, read_html, read_pdf
from .report_data import FORMAT, KIND, READABLE_FORMATS

CHANGED_FILE = (
    "its hash is not that of its content: the file was changed. Opening and saving a CSV in a "
    "spreadsheet changes it, too"
)


@frozen
class ReadReport:
    """Report as its file has it.

    `is_whole` compares the file with the hash at its end; None of JSON, which has only its seal.
    `has_figures` is false of CSV, whose figures are under the hash of the file, not the seal.
    """

    deployment_id: str
    span: Span
    chain: tuple[ChainLink, ...]
    content: Mapping[str, Any]
    is_whole: bool | None
    has_figures: bool


def read_report_file(content: bytes) -> ReadReport:
    """Reads a file in any form.

    Raises:
        InvalidInput: it is not a report of a deployment, or one of another format version.
    """
    start = content.lstrip()[:20].lower()
    if start.startswith(b"%pdf"):
        embedded = read_pdf(content, opening=f'{{\n "kind": "{KIND}"'.encode())
        return _read_members(_parse(embedded), whole=is_whole(content))
    if start.startswith(b"<"):
        return _read_members(_parse(read_html(content)), whole=is_whole(content))
    if start.startswith(b"sheet,attribute"):
        report = read_csv(content)
        # Without links in the file they follow from the digests.
        report["chain"] = [
            asdict(link) for link in join_parts((link["part"], link["digest"]) for link in report["chain"])
        ]
        return _read_members(report, whole=is_whole(content), has_figures=False)
    return _read_members(_parse(content), whole=None)


def check_file(report: ReadReport) -> Iterator[Difference]:
    if report.is_whole is False:
        yield Difference("file", CHANGED_FILE)
    content = {name: value for name, value in report.content.items() if name not in {"seal", "made"}}
    if report.has_figures and report.content.get("seal") != digest_json(content):
        yield Difference("file", "its seal is not that of its content: a figure or a text was changed")
    # The seal is no signature: a forger may compute it again, but not the chain in the database.
    yield from check_links(report.chain)
    if report.content.get("chain_head") != find_last_link(report.chain):
        yield Difference("file", "its chain does not end in the named link: links were removed or added")


def check_database(session: Session, deployment: Deployment, report: ReadReport) -> Iterator[Difference]:
    yield from compare_chains(report.chain, make_chain(session, deployment, report.span))


def _parse(content: bytes) -> Any:  # noqa: ANN401 - any JSON
    try:
        return json.loads(content)
    except (UnicodeDecodeError, ValueError) as error:
        raise InvalidInput("file", "must be a report of a deployment as JSON, HTML, PDF or CSV") from error


def _read_members(report: Any, *, whole: bool | None, has_figures: bool = True) -> ReadReport:  # noqa: ANN401 - any JSON
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
        span = Span(start=datetime.fromisoformat(period["start"]), end=datetime.fromisoformat(period["end"]))
        return ReadReport(
            str(report["deployment"]["id"]), span, read_links(report["chain"]), report, whole, has_figures
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput("file", "lacks the deployment, the period or the chain of a report") from error
