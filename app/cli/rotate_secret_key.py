"""`evenhand rotate-secret-key`."""

from pathlib import Path

from typer import Typer, echo

from ..access.audit.activity_queries import record_activity
from ..access.secret_box import (
    KEY_FILE,
    KeyFileBox,
    SecretBox,
    generate_key,
    open_secret_box,
    read_key_file,
    write_key_file,
)
from ..base.errors import SetupError
from ..base.values import join_first
from ..database.engine import Database
from ..database.reseal import SealedColumn, count_sealed, reseal_column, wait_for_sealing
from .database import load_command_settings, open_ready_database

command = Typer(add_completion=False)


@command.command()
def rotate_secret_key() -> None:
    """Encrypt stored secrets (of endpoints, protected columns, alert channels and OpenScale's service
    providers) under a new key.

    The service may keep running.

    Without EVENHAND_SECRET_KEY a new key is generated into secret.key, and the key before is removed from
    it at the end. With it, the secrets that were stored with one of EVENHAND_OLD_SECRET_KEYS are encrypted
    with EVENHAND_SECRET_KEY. A run that was stopped is continued by another one.
    """
    settings = load_command_settings()
    with open_ready_database(settings) as database:
        if settings.secret_key is not None:
            result = _reseal_all(database, open_secret_box(settings))
            echo(
                f"{result}, by EVENHAND_SECRET_KEY. Once this says 0 after the last process was "
                "restarted, drop the old keys."
            )
            return
        path = settings.data_dir / KEY_FILE
        try:
            _rotate_file(database, path)
        except OSError as error:
            raise SetupError(
                f"The secret key {path} cannot be read or replaced: {error.strerror}. Fix that and run this "
                "again."
            ) from error


def _rotate_file(database: Database, path: Path) -> None:
    keys = read_key_file(path) if path.exists() else []
    if not keys:
        raise SetupError(
            f"There is no secret key {path} yet. Start the service once, or set EVENHAND_DATA_DIR to its "
            "data folder."
        )
    # With more than one, an earlier run did not end, and its new key is in use.
    if len(keys) == 1:
        keys = [generate_key(), *keys]
        write_key_file(path, keys)
    result = _reseal_all(database, KeyFileBox(path))
    write_key_file(path, keys[:1])
    echo(
        f"{result}, by a new key in {path}. Copy it to where you keep it; earlier backups need the key "
        "before it."
    )


def _reseal_all(database: Database, box: SecretBox) -> str:
    """Raises SetupError if a secret cannot be read."""
    with database.transaction() as session:
        wait_for_sealing(session)
    with database.transaction() as session:
        total = count_sealed(session)
    seen = resealed = 0
    unreadable = list[str]()
    for kind in SealedColumn:
        with database.transaction() as session:
            secrets = reseal_column(session, kind, box)
        seen += secrets.seen
        resealed += secrets.resealed
        unreadable += [f"{kind.words} {name}" for name in secrets.unreadable]
        if secrets.seen:
            echo(f"{seen:,} of {total:,} secrets read, {resealed:,} encrypted with the new key", err=True)
    if unreadable:
        # The old keys stay: the missing one may be that of a backup, which is found later.
        raise SetupError(
            f"No known key opens the secret of {join_first(unreadable)}. {resealed:,} others were encrypted "
            "with the new key, and the old keys stay. Add the missing key to EVENHAND_OLD_SECRET_KEYS (or as "
            "a line to secret.key), or set these secrets again; then run this again."
        )
    with database.transaction() as session:
        record_activity(
            session, "command line", "secret_key.rotated", details={"encrypted": [None, resealed]}
        )
    return f"{resealed:,} of {total:,} secrets were encrypted again"
