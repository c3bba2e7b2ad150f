"""Sends hostile files to its own service, next to good posts of records: statuses by kind, memory of the API, seconds of the good posts.

Files of at most 1 MB that unpack to 24 to 200 MB: Parquet, CSV, gzip, zstd and JSON, by a seed. The exit status is 1 if a status is
wrong, if the process of the API grows by more than 100 MB, or if an upload whose client has left goes on. Needs Linux.
"""

import asyncio
import gzip
import io
import itertools
import multiprocessing
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeAlias

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scripts.arguments import make_parser
from scripts.benchmarks.load import percentile
from scripts.benchmarks.service import ROOT
from scripts.trials.doors import HOST, PATIENCE_SECONDS, RECORD, Service, running, watch_memory

MEGABYTE = 2**20
SIZES = (24, 60, 120, 200)
"""Megabytes that a file unpacks to, about."""

AT_ONCE, OF_KEY = 4, 2
MAX_GROWTH_MB = 100
MAX_FILE_BYTES = 1_000_000
MAX_RATIO = 3.0
QUIET_SECONDS = 15.0
PAUSE_SECONDS = 0.05
"""Between the beginnings of two good posts."""
LEFT_SECONDS = 5.0
RIGHT = frozenset({413, 415, 422})

DEPLOYMENT = "/v1/deployments/doors"
RECORDS, IMPORTS, TRAINING = "payload-records", "imports?kind=payload", "training-data?label=label"
JSON, CSV, LINES, PARQUET = "application/json", "text/csv", "application/jsonlines", "application/vnd.apache.parquet"
HEADER = b"id,scored_at,age,sex,prediction\n"
ROW = b"r,2026-11-20T10:00:00Z,3,male,1\n"


@dataclass(frozen=True, slots=True)
class Kind:
    """Makes files of the megabytes that they unpack to, or of their own length."""

    name: str
    address: str
    media_type: str
    make: Callable[[int], bytes]
    encoding: str = "identity"
    is_of_length: bool = False

    def draw(self, draw: random.Random) -> bytes:
        body = self.make(draw.randrange(400_000, 450_000) if self.is_of_length else draw.choice(SIZES))
        if len(body) > MAX_FILE_BYTES:
            raise SystemExit(f"{self.name} has {len(body):,} bytes")
        return body


def write_parquet(rows: int, batches: int = 1, **columns: pa.Array) -> bytes:
    """Writes a good table of so many rows a batch, with `columns` in place of some, as one row group."""
    plain = {"age": pa.array([3] * rows), "prediction": pa.array([1] * rows), "label": pa.array([1] * rows)}
    times = pa.array(["2026-11-20T10:00:00Z"] * rows)
    batch = pa.record_batch({"sex": pa.array(["male"] * rows), **plain, "scored_at": times, **columns})
    sink = io.BytesIO()
    texts = ["sex"] if pa.types.is_string(batch["sex"].type) and len(batch["sex"][0].as_py()) > MEGABYTE // 2 else []
    dictionary = [name for name in batch.schema.names if name not in texts]
    with pq.ParquetWriter(sink, batch.schema, compression="zstd", use_dictionary=dictionary) as writer:
        for _ in range(batches):
            writer.write_batch(batch, row_group_size=2**31 - 1)
    return sink.getvalue()


@cache
def _gzipped(part: bytes, megabytes: int) -> bytes:
    sink = io.BytesIO()
    with gzip.GzipFile(fileobj=sink, mode="wb", mtime=0) as file:
        for _ in range(megabytes):
            file.write(part * (MEGABYTE // len(part)))
    return sink.getvalue()


@cache
def _zstd(megabytes: int) -> bytes:
    compressed: bytes = pa.Codec("zstd").compress(b" " * (megabytes * MEGABYTE), asbytes=True)
    return compressed


def _dictionary(megabytes: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(4 * megabytes, np.int32)), pa.array(["a" * MEGABYTE]))


_NESTED = pa.list_(pa.list_(pa.list_(pa.int64())))
_PARQUET: dict[str, Callable[[int], bytes]] = {
    "one text": lambda megabytes: write_parquet(1, sex=pa.array(["a" * megabytes * MEGABYTE])),
    "long texts": lambda megabytes: write_parquet(1, megabytes, sex=pa.array(["a" * MEGABYTE])),
    "a dictionary": lambda megabytes: write_parquet(4 * megabytes, sex=_dictionary(megabytes)),
    "run lengths": lambda megabytes: write_parquet(100_000, max(megabytes, 11)),
    "nulls": lambda megabytes: write_parquet(50_000, max(megabytes, 21), extra=pa.nulls(50_000, _NESTED)),
}
_JSON: dict[str, Callable[[int], bytes]] = {
    "deep": lambda n: b'{"records":' + b"[" * n + b"]" * n + b"}",
    "number": lambda n: b'{"records":[{"features":{"age":' + b"9" * n + b'},"prediction":1}]}',
    "members": lambda n: b'{"records":[{"features":{' + b",".join(b'"f%d":1' % no for no in range(n // 12)) + b'},"prediction":1}]}',
    "empty objects": lambda n: b'{"records":[' + b",".join([b"{}"] * (n // 3)) + b"]}",
    "texts": lambda n: b'{"records":[' + b",".join([b'"ab"'] * (n // 5)) + b"]}",
}
_TEXT: dict[str, Callable[[int], bytes]] = {
    "a quote that never ends": lambda n: HEADER + b'q,2026-11-20T10:00:00Z,3,"male,1\n' + ROW * (n // len(ROW)),
    "one cell": lambda n: HEADER + b"q,2026-11-20T10:00:00Z,3," + b"m" * n + b",1\n",
    "commas": lambda n: HEADER + b"," * n + b"\n",
    "columns": lambda n: b",".join(b"c%d" % no for no in range(n // 8)) + b"\n",
}


def kinds() -> Iterator[Kind]:
    """Yields the kinds of files."""
    for name, make in _PARQUET.items():
        write = cache(make)
        yield Kind(f"parquet: {name}", IMPORTS, PARQUET, write)
        if name not in {"run lengths", "nulls"}:
            yield Kind(f"parquet: {name}", TRAINING, PARQUET, write)
    for name, part in {"zeros": b"\0", "blanks": b" ", "numbers": b"[1,1,1,1", "objects": b'{"ab":[]'}.items():
        yield Kind(f"gzip: {name}", RECORDS, JSON, partial(_gzipped, part), "gzip")
    yield Kind("gzip: rows", IMPORTS, CSV, partial(_gzipped, ROW), "gzip")
    yield Kind("zstd: blanks", RECORDS, JSON, _zstd, "zstd")
    for name, make in _JSON.items():
        yield Kind(f"json: {name}", RECORDS, JSON, make, is_of_length=True)
    for name, make in _TEXT.items():
        yield Kind(f"csv: {name}", IMPORTS, CSV, make, is_of_length=True)
        yield Kind(f"csv: {name}", TRAINING, CSV, make, is_of_length=True)
    yield Kind("json lines: deep", IMPORTS, LINES, lambda length: b"[" * length + b"\n", is_of_length=True)


Seconds: TypeAlias = defaultdict[tuple[str, int | None], list[float]]
"""Of the answers to hostile files, by kind and status."""


async def send_all(clients: list[httpx.AsyncClient], files: list[tuple[Kind, bytes]]) -> Seconds:
    """Sends the files, `OF_KEY` of each client at a time."""
    waiting, seconds = iter(files), Seconds(list)

    async def send_some(client: httpx.AsyncClient) -> None:
        for kind, body in waiting:
            began, status = time.perf_counter(), None
            method = "PUT" if kind.address == TRAINING else "POST"
            headers = {"Content-Type": kind.media_type, "Content-Encoding": kind.encoding}
            with suppress(httpx.HTTPError):
                answer = await client.request(method, f"{DEPLOYMENT}/{kind.address}", content=body, headers=headers)
                status = answer.status_code
            seconds[f"{kind.name}, {kind.address.partition('?')[0]}", status].append(time.perf_counter() - began)

    await asyncio.gather(*(send_some(client) for client in clients for _ in range(OF_KEY)))
    return seconds


def post_steadily(parent: Connection, address: str, key: str) -> None:
    """Posts records at a steady pace, in a process of its own, which the trial does not delay; sends nothing, then the seconds of each."""
    body = b'{"records":[' + b",".join([RECORD] * 100) + b"]}"
    headers = {"Content-Type": JSON, "Authorization": f"Bearer {key}"}
    seconds = []
    parent.send(None)
    with httpx.Client(timeout=PATIENCE_SECONDS, headers=headers) as client:
        while not parent.poll():
            began = time.perf_counter()
            client.post(f"{address}{DEPLOYMENT}/{RECORDS}", content=body).raise_for_status()
            seconds.append(time.perf_counter() - began)
            time.sleep(max(0.0, PAUSE_SECONDS - seconds[-1]))
    parent.send(seconds)


@contextmanager
def good_posts(service: Service, seconds: list[float]) -> Iterator[None]:
    """Posts records during the block; the seconds of the answers are added."""
    ours, theirs = multiprocessing.Pipe()
    arguments = (theirs, f"http://{HOST}:{service.port}", service.logger)
    process = multiprocessing.get_context("spawn").Process(target=post_steadily, args=arguments)
    process.start()
    ours.recv()
    try:
        yield
    finally:
        ours.send(None)
        seconds += ours.recv()
        process.join()


def count_children(service: Service) -> int:
    return len(service.api.children(recursive=True))


async def leave(service: Service, client: httpx.AsyncClient) -> float:
    """Leaves imports that would take long; returns the seconds until their processes have ended."""
    body, before = write_parquet(100_000, 9), count_children(service)
    for _ in range(OF_KEY):
        with suppress(httpx.ReadTimeout):
            await client.post(f"{DEPLOYMENT}/{IMPORTS}", content=body, headers={"Content-Type": PARQUET}, timeout=1.0)
    began = time.monotonic()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while count_children(service) > before:  # noqa: ASYNC110 - of other processes
            await asyncio.sleep(0.05)
    answer = await client.post(f"{DEPLOYMENT}/{IMPORTS}", content=HEADER + ROW, headers={"Content-Type": CSV})
    answer.raise_for_status()
    return time.monotonic() - began


async def try_uploads(service: Service, files: list[tuple[Kind, bytes]]) -> int:
    clients = [service.client(key) for key in (service.admin, service.manager)]
    quiet, busy = list[float](), list[float]()
    await send_all(clients, files[:AT_ONCE])  # the process that children are forked from is there now
    with good_posts(service, quiet):
        await asyncio.sleep(QUIET_SECONDS)
    with watch_memory(service) as memory, good_posts(service, busy):
        seen = await send_all(clients, files)
    left = await leave(service, clients[0])
    for (kind, status), seconds in sorted(seen.items(), key=str):
        print(f"{kind:<50} {len(seconds):>4} × {status}  slowest {max(seconds):.1f} s{'' if status in RIGHT else '  WRONG'}")
    growth = memory.peak - memory.before
    print(f"API process: idle {memory.before:.0f} MB, peak {memory.peak:.0f} MB, {growth:+.0f} MB (at most {MAX_GROWTH_MB})")
    for words, posts in (("without", quiet), ("with", busy)):
        print(f"{len(posts)} good posts {words} hostile files: p99 {percentile(posts, 0.99) * 1000:.1f} ms")
    print(f"p99 with hostile files ÷ without: {percentile(busy, 0.99) / percentile(quiet, 0.99):.1f} (at most {MAX_RATIO:g})")
    print(f"uploads whose clients have left are gone after {left:.1f} s (at most {LEFT_SECONDS:g})")
    is_right = all(status in RIGHT for _, status in seen)
    return 0 if is_right and growth <= MAX_GROWTH_MB and left <= LEFT_SECONDS else 1


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--code", type=Path, default=ROOT, metavar="FOLDER", help="the repository whose service is attacked")
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    files = [(kind, kind.draw(draw)) for kind in itertools.islice(itertools.cycle(kinds()), options.files)]
    with running(options.code.resolve()) as service:
        return asyncio.run(try_uploads(service, files))


if __name__ == "__main__":
    sys.exit(main())
