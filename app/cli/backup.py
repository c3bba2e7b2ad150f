"""`evenhand backup`."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ..access.secret_box import KEY_FILE
from ..base.durable_files import write_through
from ..base.errors import SetupError
from ..database.embedded.dumps import dump_database
from .database import load_command_settings, open_database, require_tables

command = typer.Typer(add_completion=False)


@command.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write. Only its owner can read it.")],
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,  # noqa: FBT002 - typer's way to declare a flag
) -> None:
    """Write the whole database, as it is at one moment, to FILE. The service may keep running."""
    settings = load_command_settings()
    if not force:
        _refuse_existing(file)
    with open_database(settings) as database:
        require_tables(database)
        with _write_new_file(file, force=force) as draft:
            dump_database(database.url, draft)
    kilobytes = -(-file.stat().st_size // 1000)
    key = (
        "EVENHAND_SECRET_KEY"
        if settings.secret_key is not None
        else str(settings.data_dir.absolute() / KEY_FILE)
    )
    typer.echo(
        f"The database is in {file} ({kilobytes:,} kB). The secret key is not in it: keep {key} too, in "
        "another place."
    )


@contextlib.contextmanager
def _write_new_file(file: Path, *, force: bool) -> Iterator[Path]:
    """The draft takes the name of `file` if the block ends without an error, and else is deleted."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            yield draft
            write_through(draft)
            if force:
                draft.replace(file)
            else:
                try:
                    os.link(draft, file)  # unlike a rename, never replaces a file created meanwhile
                except OSError:
                    _refuse_existing(file)
                    draft.replace(file)
            write_through(file.parent)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise SetupError(
            f"The backup {file} cannot be written: {error.strerror}. Name a file in a folder that you may "
            "write in."
        ) from error


def _refuse_existing(file: Path) -> None:
    if os.path.lexists(file):
        raise SetupError(f"{file} exists. Name another file, or replace it with --force.")
