"""A running service for tests: the real application behind a real uvicorn on loopback."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn

from app.main import create_app
from app.security.keys import create_key
from app.security.principals import Role
from app.settings import Settings
from app.store.engine import Database


@dataclass(frozen=True)
class RunningService:
    """Where it is, and a client that holds an admin key."""

    base_url: str
    database: Database
    admin_key: str
    client: httpx.Client

    def key(self, role: Role, deployment_no: int | None = None) -> str:
        """A new key of that role."""
        with self.database.transaction() as session:
            return create_key(session, role=role, name=f"test {role}", deployment_no=deployment_no)

    def as_(self, role: Role, deployment_no: int | None = None) -> dict[str, str]:
        """The headers that ask with a new key of that role instead."""
        return {"Authorization": f"Bearer {self.key(role, deployment_no)}"}


@contextmanager
def running_service(database: Database, data_dir: Path, **settings: object) -> Iterator[RunningService]:
    """The service on that (migrated) database, until the block ends."""
    app = create_app(Settings(data_dir=data_dir, **settings), database.url)  # type: ignore[arg-type]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the service did not start"
                time.sleep(0.01)
            with database.transaction() as session:
                key = create_key(session, role=Role.ADMIN, name="tests")
            base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            with httpx.Client(base_url=base_url, headers={"Authorization": f"Bearer {key}"}, timeout=20) as client:
                yield RunningService(base_url=base_url, database=database, admin_key=key, client=client)
        finally:
            server.should_exit = True
            thread.join()
