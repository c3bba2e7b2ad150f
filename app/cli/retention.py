"""`evenhand retention`."""

import json
from typing import Annotated

from typer import Argument, Exit, Option, Typer, echo

from ..access.secret_box import open_secret_box
from ..base.errors import Conflict, InvalidInput, NotFound
from ..base.strict_json import parse_json
from ..database.tables import ErasureRow
from ..deployments.queries import Deployments
from ..retention.erase import order_erasure, perform_erasures, require_no_hold
from ..retention.expire import apply_policies
from ..retention.policy import RecordSelector, build_receipt, hash_receipt
from ..retention.queries import get_erasure
from ..sources.tables.own_files import OwnPlaces
from ..worker.looks import POLICIES_LOCK, hold_job_alone
from .database import load_command_settings, lower_priority, open_ready_database, open_ready_session
from .keys import COMMAND_LINE

command = Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Apply retention, erase a person's records, print receipts.",
)


@command.command()
def run() -> None:
    """Erase what is past its retention now, instead of within the hour; print the receipts as JSON lines."""
    settings = load_command_settings()
    places = OwnPlaces(settings.table_folders, settings.answers_dir)
    with open_ready_database(settings) as database:
        lower_priority()
        with hold_job_alone(database, POLICIES_LOCK) as is_alone:
            if not is_alone:
                raise Conflict(
                    "A worker applies the policies of retention. Nothing was done; try again in a moment."
                )
            erasures = apply_policies(database, places)
        for erasure in erasures:
            echo(_write_receipt(erasure))


@command.command()
def erase(
    deployment: Annotated[str, Argument(help="Id of the deployment.")],
    erasure_id: Annotated[str, Option("--id", help="An id for the request, without a name of the person.")],
    record_id: Annotated[list[str] | None, Option(help="Id of a record; may be repeated.")] = None,
    field: Annotated[str | None, Option(help="A meta field by which the person is found.")] = None,
    value: Annotated[str | None, Option(help="Its value, as JSON: text needs its double quotes.")] = None,
) -> None:
    """Erase a person's records from every table. A worker finishes it and writes the receipt; without one,
    call this again after 15 s.
    """
    selector = RecordSelector(
        record_ids=tuple(record_id or ()), field=field, value=None if value is None else _read_value(value)
    )
    settings = load_command_settings()
    with open_ready_database(settings) as database:
        lower_priority()
        with database.transaction() as session:
            box = open_secret_box(settings)
            stored = Deployments(session, box).get(deployment)
            require_no_hold(session, stored.no, deployment, "nothing of it is erased")
            order_erasure(session, stored, erasure_id, selector, sealer=box, by=COMMAND_LINE)
        perform_erasures(database, OwnPlaces(settings.table_folders, settings.answers_dir))
        with database.transaction() as session:
            echo(_write_receipt(get_erasure(session, deployment, erasure_id)))


@command.command()
def receipt(
    deployment: Annotated[str, Argument(help="Id of the deployment, which may be deleted by now.")],
    erasure_id: Annotated[str, Argument(help="Id of the erasure.")],
) -> None:
    """Print the receipt of an erasure, and verify its hash. Ends with 1 if it was changed."""
    with open_ready_session() as session:
        erasure = get_erasure(session, deployment, erasure_id)
    if erasure.hash is None:
        raise NotFound(
            "receipt yet of the erasure",
            f"{erasure_id}: a worker writes it within a minute, unless the deployment is on hold",
        )
    echo(_write_receipt(erasure))
    if hash_receipt(build_receipt(erasure)) != erasure.hash:
        echo(
            "The receipt was changed after it was written: its hash is another one. Compare it with the "
            "audit.",
            err=True,
        )
        raise Exit(1)


def _write_receipt(erasure: ErasureRow) -> str:
    return json.dumps({**build_receipt(erasure), "state": erasure.state, "hash": erasure.hash})


def _read_value(text: str) -> str | int | float | bool:
    value = parse_json(text, None)
    if isinstance(value, str | int | float | bool):
        return value
    raise InvalidInput(
        "--value", f"must be a text in double quotes, a number, true or false, found {text!r:.100}"
    )
