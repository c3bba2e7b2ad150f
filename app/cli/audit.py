"""`evenhand audit`."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option, Typer, echo

from ..access.audit.event_queries import (
    AuditEvent,
    AuditFilter,
    ChainHead,
    check_chain,
    read_sealed_events,
    read_unsealed,
    write_audit_line,
)
from ..base.errors import InvalidInput, SetupError
from .database import open_ready_session

command = Typer(no_args_is_help=True, add_completion=False, help="Verify and export the audit.")

_HEAD = re.compile(r"(\d{1,18}):([0-9a-f]{64})", re.ASCII)


@command.command()
def verify(
    head: Annotated[
        str, Option(help="POSITION:HASH that an earlier run printed, or of a line that a worker printed.")
    ] = "",
    file: Annotated[
        Path | None, Option(help="A whole export to verify instead of the database.", dir_okay=False)
    ] = None,
) -> None:
    """Say whether audit events were deleted, changed or re-ordered since they were sealed. Ends with 1 if so.

    Without --head, events removed at the end of the chain are not noticed.
    """
    anchor = _read_head(head)
    unsealed_note = ""
    if file:
        report = check_chain(_read_file(file), anchor=anchor)
    else:
        with open_ready_session() as session:
            report = check_chain(read_sealed_events(session), anchor=anchor)
            unsealed, oldest = read_unsealed(session)
            if oldest:
                unsealed_note = (
                    f" Not sealed yet: {unsealed:,}, the oldest of "
                    f"{oldest.astimezone(UTC):%Y-%m-%d %H:%M} UTC."
                )
    if report.fault:
        echo(
            f"The audit was tampered with, or is incomplete. {report.fault} The {report.head.position:,} "
            "events before are intact."
        )
        raise Exit(1)
    echo(
        f"{report.head.position:,} events are intact.{unsealed_note} Head: "
        f"{report.head.position}:{report.head.hash.hex()}"
    )


@command.command()
def export(
    file: Annotated[Path, Argument(help="File to write; it must not exist.", dir_okay=False)],
    since: Annotated[datetime | None, Option(help="Only events from this time on, in UTC.")] = None,
    until: Annotated[datetime | None, Option(help="Only events before this time, in UTC.")] = None,
    first: Annotated[
        int, Option("--from", min=1, help="Only events from this position of the chain on.")
    ] = 1,
) -> None:
    """Write the sealed events as JSON lines, in the order of the chain. A whole export can be verified
    without the database.
    """
    bounds = [None if moment is None else moment.replace(tzinfo=UTC) for moment in (since, until)]
    count = 0
    with open_ready_session() as session:
        try:
            with file.open("x", encoding="ascii") as lines:
                for event in read_sealed_events(
                    session, AuditFilter(since=bounds[0], until=bounds[1]), first=first
                ):
                    lines.write(write_audit_line(event) + "\n")
                    count += 1
        except OSError as error:
            raise SetupError(
                f"The file {file} cannot be written: {error.strerror}. Name a file that does not exist yet."
            ) from error
    echo(f"{count:,} events were written to {file}.")


def _read_head(text: str) -> ChainHead | None:
    if not text:
        return None
    match = _HEAD.fullmatch(text)
    if not match:
        raise InvalidInput("--head", f"must be POSITION:HASH with 64 hexadecimal digits, found {text!r:.100}")
    return ChainHead(int(match[1]), bytes.fromhex(match[2]))


def _read_file(file: Path) -> Iterator[AuditEvent]:
    try:
        with file.open(encoding="ascii") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    document = json.loads(line)
                    at = datetime.fromisoformat(document.pop("at"))
                    event_hash = bytes.fromhex(document.pop("hash"))
                    yield AuditEvent(**document, at=at, hash=event_hash)
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise InvalidInput(
                        f"{file}, line {number}", "is not an event as `evenhand audit export` writes it"
                    ) from error
    except OSError as error:
        raise SetupError(f"The file {file} cannot be read: {error.strerror}.") from error
