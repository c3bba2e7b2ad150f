"""`evenhand report verify`."""

from dataclasses import dataclass
from pathlib import Path

from ..reports.regulator.verification import check_database, check_file, read_report_file
from ..security.secrets import open_secret_box
from ..store.deployments.deployments import Deployments
from .database import ready_database
from .startup import command_settings

MOST_LINES = 50


@dataclass(frozen=True, slots=True)
class VerifiedReport:
    lines: tuple[str, ...]
    is_unchanged: bool


def verify_report(file: Path, *, is_offline: bool) -> VerifiedReport:
    """Returns whether the file is as it was made and, unless offline, the database as it was then."""
    report = read_report_file(file.read_bytes())
    found = list(check_file(report))
    looked_at = "the file"
    if not is_offline:
        settings = command_settings()
        with ready_database(settings) as database, database.transaction() as session:
            deployment = Deployments(session, open_secret_box(settings)).get(report.deployment_id)
            found += check_database(session, deployment, report)
        looked_at = "the file and the database"
    checks = sum(1 for one in report.chain if one.part.startswith("check "))
    counted = "1 check" if checks == 1 else f"{checks:,} checks"
    if not found:
        return VerifiedReport((f"Unchanged: {looked_at}; {counted} and the configuration, chain {report.content['chain_head']}.",), True)
    lines = [f"{one.part}: {one.message}" for one in found[:MOST_LINES]]
    more = [f"{len(found) - MOST_LINES:,} more."] if len(found) > MOST_LINES else []
    differ = "1 part differs" if len(found) == 1 else f"{len(found):,} parts differ"
    return VerifiedReport((f"Changed: {differ}.", *lines, *more), False)
