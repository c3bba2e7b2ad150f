"""Attacks its own service on loopback, and says whether others were still served: heads, silence, pipelining, reports, bodies.

Starts `evenhand serve` of the code in FOLDER with its own database on a free port. Needs Linux and a few minutes. The exit status
is 1 if an attack got through.
"""

import asyncio
import contextlib
import statistics
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import httpx
import psutil

from scripts.arguments import make_parser
from scripts.benchmarks.service import ROOT, Checkout
from scripts.benchmarks.staging import open_client, own_postgres, register

HOST = "127.0.0.1"
CROWD = "127.0.0.2"
"""Address of those who attack: each address has a number of connections of its own."""

CONNECTIONS = 200
HEAD_BYTES = 1_000_000
SILENT = 2_000
PIPELINING, PIPELINED = 50, 14_400
"""Connections that send requests without waiting for answers, and the requests of each."""
GOOD_REQUESTS = 20
MAX_GROWTH_MB = 50
REPORTS = 40
MAX_SAMPLES = 1000
MAX_RATIO = 3.0
BODIES, BODY_BYTES, BODY_PART = 8, 64 * 2**20 - 8192, 8192
"""Bodies sent at once, bytes of each and bytes of a part; together they just fill the room of all ingestion bodies."""
SAMPLE_SECONDS = 0.05
PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Service:
    port: int
    api: psutil.Process
    admin: str
    manager: str
    logger: str

    def client(self, key: str) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.AsyncClient(base_url=f"http://{HOST}:{self.port}", headers=headers, timeout=PATIENCE_SECONDS)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Megabytes of the API before and at most, and the number of good requests answered meanwhile."""

    attack: str
    before: float
    peak: float
    good: int
    is_memory_bounded: bool = True

    @property
    def is_passed(self) -> bool:
        return self.good == GOOD_REQUESTS and not (self.is_memory_bounded and self.peak - self.before > MAX_GROWTH_MB)

    def __str__(self) -> str:
        bounds = f"{self.before:>8.0f} {self.peak:>8.0f} {self.peak - self.before:>+8.0f}"
        return f"{self.attack:<44} {bounds} {self.good:>4} of {GOOD_REQUESTS}  {'pass' if self.is_passed else 'FAIL'}"


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--code", type=Path, default=ROOT, metavar="FOLDER", help="the repository whose service is attacked")
    options = parser.parse_args()
    with running(options.code.resolve()) as service:
        return asyncio.run(_attack_all(service))


async def _attack_all(service: Service) -> int:
    print(f"{'attack':<44} {'RSS MB':>8} {'peak':>8} {'growth':>8} {'good answers':>10}", flush=True)
    outcomes = []
    for attack, name, is_memory_bounded in (
        (large_heads, f"{CONNECTIONS} connections send {HEAD_BYTES // 1000} kB of headers", True),
        (half_open, f"{CONNECTIONS} half-open requests stay", True),
        (silent, f"{SILENT:,} silent connections", True),
        (pipelined, f"{PIPELINING} connections pipeline {PIPELINED:,} requests", True),
        (slow_bodies, f"{BODIES} slow bodies of {round(BODY_BYTES / 2**20)} MiB of one key", False),
    ):
        outcomes.append(await measured(service, name, attack, is_memory_bounded=is_memory_bounded))
        print(outcomes[-1], flush=True)
    ratio = await reports_ratio(service)
    print(f"/v1/me while {REPORTS} reports are asked for takes {ratio:.1f} times as long (at most {MAX_RATIO:g}): ", end="")
    print("pass" if ratio <= MAX_RATIO else "FAIL", flush=True)
    return 0 if ratio <= MAX_RATIO and all(outcome.is_passed for outcome in outcomes) else 1


async def measured(service: Service, name: str, attack: Callable[[Service], "Attack"], *, is_memory_bounded: bool) -> Outcome:
    with Memory(service.api) as memory:
        async with attack(service) as ask:
            good = 0
            for _ in range(GOOD_REQUESTS):
                with contextlib.suppress(httpx.HTTPError):
                    good += await ask()
    return Outcome(name, memory.before, memory.peak, good, is_memory_bounded)


Ask = AsyncIterator[Callable[[], Awaitable[bool]]]
"""Yields how a good request is sent during an attack, which returns whether it was answered."""

Attack = contextlib.AbstractAsyncContextManager[Callable[[], Awaitable[bool]]]


@asynccontextmanager
async def large_heads(service: Service) -> Ask:
    """Sends heads that do not end, from many connections at once."""
    header = b"x-%d: " + b"y" * 8000 + b"\r\n"
    parts = [b"GET /v1/me HTTP/1.1\r\nhost: a\r\n", *(header % no for no in range(HEAD_BYTES // 8000))]
    async with _crowd(service, CONNECTIONS, parts), _asking(service) as ask:
        yield ask


@asynccontextmanager
async def half_open(service: Service) -> Ask:
    async with _crowd(service, CONNECTIONS, [b"GET /v1/me HTTP/1.1\r\nhost: a\r\nx: "]), _asking(service) as ask:
        yield ask


@asynccontextmanager
async def silent(service: Service) -> Ask:
    """Opens connections that never say anything, until the service closes them."""
    async with _crowd(service, SILENT, []), _asking(service) as ask:
        yield ask


@asynccontextmanager
async def pipelined(service: Service) -> Ask:
    requests = [b"GET /health/live HTTP/1.1\r\nhost: a\r\n\r\n" * PIPELINED]
    async with _crowd(service, PIPELINING, requests), _asking(service) as ask:
        yield ask


@asynccontextmanager
async def slow_bodies(service: Service) -> Ask:
    """Sends bodies of one key that lack their last bytes, while another key logs records."""
    address = "/v1/deployments/doors/payload-records"
    head = f"POST {address} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {service.admin}\r\ncontent-length: {BODY_BYTES + 1}\r\n\r\n"
    part = b" " * BODY_PART
    async with _crowd(service, BODIES, [head.encode(), *[part] * (BODY_BYTES // BODY_PART)]), service.client(service.logger) as client:

        async def ask() -> bool:
            body = b'{"records":[' + b",".join([b'{"features":{"age":1,"sex":"male"},"prediction":1}'] * 2000) + b"]}"
            return (await client.post(address, content=body, headers={"Content-Type": "application/json"})).status_code == httpx.codes.OK

        yield ask


async def reports_ratio(service: Service) -> float:
    """Returns how many times as long `/v1/me` takes while several reports are requested at once."""
    async with service.client(service.admin) as client, service.client(service.admin) as crowd:
        check = (await client.get("/v1/deployments/doors/checks")).json()["checks"][0]["id"]
        address = f"/v1/deployments/doors/checks/{check}/report"
        (await client.get(f"{address}.html")).raise_for_status()
        alone = [await _seconds(client) for _ in range(GOOD_REQUESTS)]
        reports = [asyncio.ensure_future(crowd.get(f"{address}.pdf")) for _ in range(REPORTS)]
        under_load: list[float] = []
        while len(under_load) < MAX_SAMPLES and not all(report.done() for report in reports):
            under_load.append(await _seconds(client))
        for report in reports:
            report.cancel()
        answers = await asyncio.gather(*reports, return_exceptions=True)
    made = sum(isinstance(answer, httpx.Response) and answer.is_success for answer in answers)
    print(f"/v1/me: median {statistics.median(alone) * 1000:.0f} ms alone; ", end="")
    print(f"{statistics.median(under_load) * 1000:.0f} ms in {len(under_load)} requests during reports, of which {made} were made")
    return statistics.median(under_load) / statistics.median(alone)


async def _seconds(client: httpx.AsyncClient) -> float:
    began = time.perf_counter()
    with contextlib.suppress(httpx.HTTPError):
        await client.get("/v1/me")
    return time.perf_counter() - began


@asynccontextmanager
async def _asking(service: Service) -> Ask:
    async def ask() -> bool:
        async with service.client(service.admin) as client:
            return (await client.get("/v1/me")).status_code == httpx.codes.OK

    yield ask


@asynccontextmanager
async def _crowd(service: Service, count: int, parts: list[bytes]) -> AsyncIterator[None]:
    """Opens connections that send the parts, or as much of them as is accepted; they stay open until the block ends."""
    connections = await asyncio.gather(*(asyncio.open_connection(HOST, service.port, local_addr=(CROWD, 0)) for _ in range(count)))
    try:
        await asyncio.gather(*(_send(writer, parts) for _, writer in connections))
        yield
    finally:
        for _, writer in connections:
            writer.transport.abort()


async def _send(writer: asyncio.StreamWriter, parts: list[bytes]) -> None:
    with contextlib.suppress(ConnectionError, TimeoutError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            for part in parts:
                writer.write(part)
                await writer.drain()


class Memory:
    """The resident memory of a process in MB: before the block, and at most during it."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.before = self.peak = self._now()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            self.peak = max(self.peak, self._now())

    def _now(self) -> float:
        return float(self._process.memory_info().rss) / 2**20


@contextmanager
def running(code: Path) -> Iterator[Service]:
    with own_postgres() as (url, folder):
        checkout = Checkout(code, Path(sys.executable), url, folder)
        with checkout.running("serve") as serving:
            admin, manager, logger = (checkout.run("keys", "create", "--role", role) for role in ("admin", "manage", "ingest"))
            api = next(child for child in serving.children(recursive=True) if "app.cli.service.api_process" in " ".join(child.cmdline()))
            service = Service(checkout.port, api, admin, manager, logger)
            _prepare(service)
            yield service


def _prepare(service: Service) -> None:
    checks = "/v1/deployments/doors/checks"
    with open_client(service.port, service.admin) as client:
        register(client, "doors", {"name": "age", "type": "integer"}, {})
        records = [
            {"features": {"age": 30 + no % 30, "sex": ("male", "female")[no % 2]}, "prediction": int(no % 3 > 0)} for no in range(400)
        ]
        client.post("/v1/deployments/doors/payload-records", json={"records": records}).raise_for_status()
        client.post(checks).raise_for_status()
        while (state := client.get(checks).json()["checks"][0]["state"]) in {"queued", "running"}:
            time.sleep(0.1)
        if state != "succeeded":
            raise SystemExit(f"the check ended as {state}")


if __name__ == "__main__":
    sys.exit(main())
