"""A primary with a streaming replica, both with the settings of the product."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from app.database.embedded.data_folder import ServerPlace, choose_place
from app.database.embedded.dumps import find_client_program
from app.database.embedded.embedded_server import SYSTEM_DIR, EmbeddedPostgres
from app.database.embedded.system_account import build_tied_command


@dataclass(frozen=True, slots=True)
class Pair:
    """Two running servers: the primary, and the replica of all of its databases."""

    primary: EmbeddedPostgres
    replica: EmbeddedPostgres

    def tell_replica(self, statement: str) -> None:
        """Runs a statement as the replica's administrator."""
        with psycopg.connect(self.replica.url, autocommit=True) as connection:
            connection.execute(statement)


@contextmanager
def replicated_postgres() -> Iterator[Pair]:
    """A primary and its replica, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="evenhand-pair-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # as root the servers run as another account
        primary, replica = EmbeddedPostgres(folder / "primary"), EmbeddedPostgres(folder / "replica")
        primary.start()
        try:
            (folder / "replica").mkdir()
            _copy(primary.url, choose_place(folder / "replica", SYSTEM_DIR))
            replica.start(creates=False)
            try:
                yield Pair(primary, replica)
            finally:
                replica.stop()
        finally:
            primary.stop()


def _copy(primary_url: str, place: ServerPlace) -> None:
    """Copies the running primary to `place`, set up to follow it."""
    place.data.mkdir(mode=0o700)
    # Not as the server's account: as root it may be unable to enter the folder that the program lies in.
    arguments = ["--pgdata", str(place.data), "--dbname", primary_url, "--write-recovery-conf", "--checkpoint", "fast"]
    subprocess.run(
        build_tied_command([find_client_program("pg_basebackup"), *arguments], signal.SIGKILL), check=True, capture_output=True, cwd="/"
    )
    for path in (place.data, *place.data.rglob("*")):
        os.chown(path, place.account.uid, place.account.gid)
