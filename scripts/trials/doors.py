"""Attacks its own service on loopback, and says whether others were still served: heads, silence, pipelining, reports, bodies.

Starts `evenhand serve` of the code in FOLDER with its own database on a free port. Needs Linux and a few minutes. The exit status
is 1 if an attack got through.
"""

import asyncio
import contextlib
import math
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from scripts.arguments import make_parser
from scripts.benchmarks.peak import Peak
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
PATIENCE_SECONDS = 60
RECORD = b'{"features":{"age":1,"sex":"male"},"prediction":1}'


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


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--code", type=Path, default=ROOT, metavar="FOLDER", help="the repository whose service is attacked")
    options = parser.parse_args()
    with running(options.code.resolve()) as service:
        return asyncio.run(_attack_all(service))


async def _attack_all(service: Service) -> int:
    print(f"{'attack':<44} {'RSS MB':>8} {'peak':>8} {'growth':>8} {'good answers':>10}", flush=True)
    head = b"GET /v1/me HTTP/1.1\r\nhost: a\r\n"
    headers = [b"x-%d: " % no + b"y" * 8000 + b"\r\n" for no in range(HEAD_BYTES // 8000)]
    pipeline = b"GET /health/live HTTP/1.1\r\nhost: a\r\n\r\n" * PIPELINED
    is_passed = [
        await _withstands(service, f"{CONNECTIONS} connections send {HEAD_BYTES // 1000} kB of headers", CONNECTIONS, [head, *headers]),
        await _withstands(service, f"{CONNECTIONS} half-open requests stay", CONNECTIONS, [head + b"x: "]),
        await _withstands(service, f"{SILENT:,} silent connections", SILENT, []),
        await _withstands(service, f"{PIPELINING} connections pipeline {PIPELINED:,} requests", PIPELINING, [pipeline]),
        await _withstands_slow_bodies(service),
    ]
    ratio = await reports_ratio(service)
    print(f"/v1/me while {REPORTS} reports are asked for takes {ratio:.1f} times as long (at most {MAX_RATIO:g}): ", end="")
    print("pass" if ratio <= MAX_RATIO else "FAIL", flush=True)
    return 0 if ratio <= MAX_RATIO and all(is_passed) else 1


async def _withstands(service: Service, attack: str, connections: int, parts: list[bytes]) -> bool:
    """Returns whether good requests are answered while connections send the parts, in little memory."""

    async def ask() -> httpx.Response:
        async with service.client(service.admin) as client:
            return await client.get("/v1/me")

    return await _ask_under_attack(service, attack, connections, parts, ask)


async def _withstands_slow_bodies(service: Service) -> bool:
    """Returns whether one key logs records while bodies of another one lack their last bytes, in whatever memory."""
    address = "/v1/deployments/doors/payload-records"
    head = f"POST {address} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {service.admin}\r\ncontent-length: {BODY_BYTES + 1}\r\n\r\n"
    parts = [head.encode(), *[b" " * BODY_PART] * (BODY_BYTES // BODY_PART)]
    body = b'{"records":[' + b",".join([RECORD] * 2000) + b"]}"
    async with service.client(service.logger) as client:
        return await _ask_under_attack(
            service,
            f"{BODIES} slow bodies of {round(BODY_BYTES / 2**20)} MiB of one key",
            BODIES,
            parts,
            lambda: client.post(address, content=body, headers={"Content-Type": "application/json"}),
            max_growth=math.inf,
        )


async def _ask_under_attack(
    service: Service,
    attack: str,
    connections: int,
    parts: list[bytes],
    ask: Callable[[], Awaitable[httpx.Response]],
    max_growth: float = MAX_GROWTH_MB,
) -> bool:
    good = 0
    with watch_memory(service) as memory:
        async with _crowd(service, connections, parts):
            for _ in range(GOOD_REQUESTS):
                with contextlib.suppress(httpx.HTTPError):
                    good += (await ask()).status_code == httpx.codes.OK
    growth = memory.peak - memory.before
    is_passed = good == GOOD_REQUESTS and growth <= max_growth
    bounds = f"{memory.before:>8.0f} {memory.peak:>8.0f} {growth:>+8.0f}"
    print(f"{attack:<44} {bounds} {good:>4} of {GOOD_REQUESTS}  {'pass' if is_passed else 'FAIL'}", flush=True)
    return is_passed


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


def watch_memory(service: Service) -> Peak:
    """Watches the resident megabytes of the API."""
    return Peak(lambda: float(service.api.memory_info().rss) / 2**20)


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
