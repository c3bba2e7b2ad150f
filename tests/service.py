"""A running service for tests: the real application in this process, and a client that calls it without a socket.

A test that asks for `base_url` gets a real uvicorn on loopback in front of the same application.
"""

import asyncio
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import uvicorn
from starlette.types import ASGIApp
from uvicorn.lifespan.on import LifespanOn

from app.access.keys.queries import create_key
from app.access.principals import Role
from app.access.secret_box import KEY_FILE
from app.base.settings import Settings
from app.database.engine import Database
from app.main import create_app
from app.reports import report_processes as making
from tests.progress import wait_until

SECRET = "the same in every test, because deriving a key from a new one takes 50 ms"  # noqa: S105 - it protects nothing

making.MAX_WORK_SECONDS = 86_400.0  # on a busy machine a report takes longer than the 55 seconds that it has

Result = TypeVar("Result")


@dataclass(frozen=True)
class RunningService:
    """Its application, and a client that holds an admin key."""

    application: "Application"
    database: Database
    admin_key: str
    client: httpx.Client

    @property
    def base_url(self) -> str:
        """Where it listens. Only `client` and `new_client()` do without the socket, which takes a quarter of a second to close."""
        self.application.listen()
        return self.application.address

    def key(self, role: Role, deployment_no: int | None = None) -> str:
        """A new key of that role."""
        with self.database.transaction() as session:
            return create_key(session, role=role, name=f"test {role}", deployment_no=deployment_no)

    def as_(self, role: Role, deployment_no: int | None = None) -> dict[str, str]:
        """The headers that ask with a new key of that role instead."""
        return {"Authorization": f"Bearer {self.key(role, deployment_no)}"}

    def new_client(self, **options: Any) -> httpx.Client:  # noqa: ANN401 - those of httpx
        """Another client without a socket, which holds no key."""
        return self.application.new_client(**options)


class Application(httpx.BaseTransport):
    """An application and its lifespan, on an event loop in a thread of its own. It is also the transport that calls it."""

    def __init__(self, app: ASGIApp, settings: Settings, listener: socket.socket) -> None:
        self.address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._app = app
        self._listener = listener
        self._asgi = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._loop = asyncio.new_event_loop()
        self._server = uvicorn.Server(
            uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", timeout_keep_alive=settings.keep_alive_seconds)
        )
        self._serving: asyncio.Task[None] | None = None
        self._lock = threading.Lock()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Runs the lifespan for the length of the block."""
        thread = threading.Thread(target=self._loop.run_forever, name="application")
        thread.start()
        try:
            lifespan = self._await(self._start())
            assert not lifespan.should_exit, "the service did not start"
            try:
                yield
            finally:
                self._await(self._stop(lifespan))
        finally:
            self._await(self._loop.shutdown_default_executor())
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    def listen(self) -> None:
        """Answers on its address from now on."""
        with self._lock:
            if self._serving is None:
                self._serving = self._await(self._serve())
                wait_until(lambda: self._server.started, "uvicorn listens")

    def new_client(self, **options: Any) -> httpx.Client:  # noqa: ANN401 - those of httpx
        """A client without a socket."""
        return httpx.Client(base_url=self.address, transport=self, **options)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Passes a request to the application."""
        request.read()
        answer, body = self._await(self._answer(request))
        return httpx.Response(answer.status_code, headers=answer.headers, content=body)

    def _await(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _answer(self, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        answer = await self._asgi.handle_async_request(request)
        # As it was sent: the caller's answer decodes a compressed body by its headers.
        return answer, b"".join([part async for part in answer.aiter_raw()])

    async def _start(self) -> LifespanOn:
        lifespan = LifespanOn(uvicorn.Config(self._app, log_config=None, lifespan="on"))
        await lifespan.startup()
        return lifespan

    async def _serve(self) -> asyncio.Task[None]:
        return asyncio.create_task(self._server.serve(sockets=[self._listener]))

    async def _stop(self, lifespan: LifespanOn) -> None:
        if self._serving is not None:
            self._server.should_exit = True
            await self._serving
        await lifespan.shutdown()


@contextmanager
def running_service(database: Database, data_dir: Path, **settings: object) -> Iterator[RunningService]:
    """The service on that (migrated) database, until the block ends."""
    if not (data_dir / KEY_FILE).exists():
        data_dir.mkdir(parents=True, exist_ok=True)
        (data_dir / KEY_FILE).write_text(SECRET)
    given = Settings(data_dir=data_dir, **settings)  # type: ignore[arg-type]
    app = create_app(given, database.url)
    with ExitStack() as stack:
        # Without the protocol's number asyncio leaves Nagle's algorithm on, and each answer with a body waits 40 ms.
        listener = stack.enter_context(closing(socket.socket(proto=socket.IPPROTO_TCP)))
        listener.bind(("127.0.0.1", 0))  # without listening: who calls before anybody asked for `base_url` is refused and does not hang
        application = Application(app, given, listener)
        stack.enter_context(application.running())
        with database.transaction() as session:
            key = create_key(session, role=Role.ADMIN, name="tests")
        client = stack.enter_context(application.new_client(headers={"Authorization": f"Bearer {key}"}))
        yield RunningService(application=application, database=database, admin_key=key, client=client)
