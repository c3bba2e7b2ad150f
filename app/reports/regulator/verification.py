"""Verification of a regulator's report: the file by itself, and its chain next to the database."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from ...domain.checks import Span
from ...domain.deployments import Deployment
from ...errors import InvalidInput
from .chain import ChainLink, Difference, check_links, compare_chains, head_of, make_chain, read_links
from .data import FORMAT, KIND, seal_of


@dataclass(frozen=True, slots=True)
class ReadReport:
    """A report as its file has it: the deployment's id, the period, the chain, and all of it."""

    deployment_id: str
    span: Span
    chain: tuple[ChainLink, ...]
    content: dict[str, Any]


def read_report_file(content: bytes) -> ReadReport:
    """Returns the report of a file.

    Raises:
        InvalidInput: it is not a report of a deployment as JSON, or of another version of the format.
    """
    try:
        found = json.loads(content)
    except (UnicodeDecodeError, ValueError) as error:
        raise InvalidInput.of("file", "must be a report as JSON; a PDF carries it as the attached file report.json") from error
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise InvalidInput.of("file", "must be the JSON of `evenhand report --deployment`, and is another document")
    if found.get("format") != FORMAT:
        raise InvalidInput.of("file", f"must have the format {FORMAT}, and was made by another version of Evenhand")
    try:
        period = found["period"]
        span = Span(start=datetime.fromisoformat(period["start"]), end=datetime.fromisoformat(period["end"]))
        return ReadReport(str(found["deployment"]["id"]), span, read_links(found["chain"]), found)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput.of("file", "lacks the deployment, the period or the chain of a report") from error


def check_file(report: ReadReport) -> Iterator[Difference]:
    """Yields what shows that the file was changed since it was made."""
    if report.content.get("seal") != seal_of(report.content):
        yield Difference("file", "its seal is not that of its content: a figure or a text was changed")
    # The seal is no signature: a person who changes the file may compute it again, but not the chain in the database.
    yield from check_links(report.chain)
    if report.content.get("chain_head") != head_of(report.chain):
        yield Difference("file", "its chain does not end in the named link: links were removed or added")


def check_database(session: Session, deployment: Deployment, report: ReadReport) -> Iterator[Difference]:
    """Yields the checks and configurations that are not as they were when the report was made."""
    yield from compare_chains(report.chain, make_chain(session, deployment, report.span))
