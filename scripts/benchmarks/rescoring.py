"""Compares rescoring in a format of each family with a bare httpx loop in the same format: the same rows and endpoint, in one run.

Each page has 1,000 rows of 20 columns, four requests are under way. The bare loop checks nothing. Printed are medians of this process's
processor time, and their ratios (goal: at most 1.15).
"""

import asyncio
import csv
import gc
import io
import random
import statistics
import struct
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import msgspec
import numpy as np

from app.calls.scoring.scoring_client import ScoringClient
from app.cli import GARBAGE_THRESHOLD
from app.domain.deployment import Endpoint, FieldType, OutputFields
from app.domain.record import Prediction
from app.payloads.registry import PayloadFormat, get_codec
from scripts.arguments import make_parser
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.model import serving

GOAL = 1.15
CONNECTIONS = 4
PAGE = 1000
NUMERIC = [f"amount_{i}" for i in range(10)]
CATEGORICAL = [f"kind_{i}" for i in range(10)]
COLUMNS = [*NUMERIC, *CATEGORICAL]
KINDS = ["low", "middle", "high", "unknown"]

Row = list[Any]

encode, decode = msgspec.json.encode, msgspec.json.decode


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(WAYS), help="formats, with commas")
    options = parser.parse_args()
    gc.set_threshold(GARBAGE_THRESHOLD)
    gc.freeze()
    rows = make_rows(options.pages * PAGE)
    worst = 0.0
    with serving(answer) as port:
        for name in options.only.split(","):
            bare, ours = measure(f"http://127.0.0.1:{port}/{name}", name, rows, options.rounds)
            worst = max(worst, ours / bare)
            print(f"{name:24} seconds of processors: bare {bare:.3f}, ours {ours:.3f}, ratio {ours / bare:.2f}", flush=True)
    sys.exit(0 if show_lines([Line("rescoring: slowest format / its bare loop, processor time", worst, GOAL, is_most=True)]) else 1)


def measure(url: str, name: str, rows: list[Row], rounds: int) -> tuple[float, float]:
    """Returns the median processor seconds of the bare loop and of ours."""
    client = ScoringClient(
        Endpoint(url=url, payload_format=name, page_size=PAGE, concurrency=CONNECTIONS, timeout_seconds=60.0),
        OutputFields(probability="probability"),
        COLUMNS,
        types=[FieldType.NUMBER] * len(NUMERIC) + [FieldType.STRING] * len(CATEGORICAL),
    )
    sides: list[tuple[Callable[[], list[Any]], list[float]]] = [
        (lambda: asyncio.run(bare_loop(url, name, rows)), []),
        (lambda: [answer.prediction for answer in client.score(rows) if isinstance(answer, Prediction)], []),
    ]
    answers = [side() for side, _ in sides]
    if answers[0] != answers[1]:
        sys.exit(f"the two sides disagree about the predictions of {name}")
    for number in range(rounds):
        for side, seconds in sides if number % 2 == 0 else reversed(sides):
            before = time.process_time()
            side()
            seconds.append(time.process_time() - before)
    return statistics.median(sides[0][1]), statistics.median(sides[1][1])


async def bare_loop(url: str, name: str, rows: list[Row]) -> list[Any]:
    write, read, content_type = WAYS[name]
    starts = iter(range(0, len(rows), PAGE))
    found: dict[int, list[Any]] = {}

    async def lane(http: httpx.AsyncClient) -> None:
        for start in starts:
            body = write(COLUMNS, rows[start : start + PAGE])
            answer = await http.post(url, content=body, headers={"Content-Type": content_type})
            found[start] = read(answer.content)

    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=CONNECTIONS), timeout=60) as http:
        await asyncio.gather(*(lane(http) for _ in range(CONNECTIONS)))
    return [one for start in sorted(found) for one in found[start]]


def _csv(_columns: list[str], rows: list[Row]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_NONNUMERIC).writerows(rows)
    return text.getvalue().encode()


def _read_csv(body: bytes) -> list[Any]:
    return [int(line[0]) for line in csv.reader(io.StringIO(body.decode(), newline=""))]


def _table(columns: list[str], rows: list[Row]) -> bytes:
    return encode({"fields": columns, "values": rows})


def _read_table(body: bytes) -> list[Any]:
    return [row[0] for row in decode(body)["values"]]


_WANTED = [{"name": "prediction"}, {"name": "probability"}]


def _tensors(columns: list[str], rows: list[Row]) -> bytes:
    inputs = [{**tensor, "data": cells} for tensor, cells in _describe(columns, rows)]
    return encode({"parameters": {"content_type": "pd"}, "inputs": inputs, "outputs": _WANTED})


def _read_tensors(body: bytes) -> list[Any]:
    found: list[Any] = decode(body)["outputs"][0]["data"]
    return found


def _binary(columns: list[str], rows: list[Row]) -> bytes:
    inputs, parts = [], []
    for tensor, cells in _describe(columns, rows):
        if tensor["datatype"] == "BYTES":
            part = b"".join([struct.pack("<I", len(text)) + text for text in [cell.encode() for cell in cells]])
        else:
            part = np.array(cells, "<f8").tobytes()
        inputs.append({**tensor, "parameters": {"binary_data_size": len(part)}})
        parts.append(part)
    return encode({"inputs": inputs, "parameters": {"binary_data_output": True}, "outputs": _WANTED}) + b"".join(parts)


def _read_binary(body: bytes) -> list[Any]:
    end = body.index(b"}", body.index(b"}}]") + 3) + 1
    sizes = [output["parameters"]["binary_data_size"] for output in decode(body[:end])["outputs"]]
    found: list[Any] = np.frombuffer(body, "<i8", sizes[0] // 8, end).tolist()
    np.frombuffer(body, "<f8", sizes[1] // 8, end + sizes[0]).tolist()
    return found


def _describe(columns: list[str], rows: list[Row]) -> Iterator[tuple[dict[str, Any], tuple[Any, ...]]]:
    """Yields the name, shape and type of each column's tensor, and its cells."""
    for name, cells in zip(columns, zip(*rows, strict=True), strict=True):
        yield {"name": name, "shape": [len(rows), 1], "datatype": "BYTES" if isinstance(cells[0], str) else "FP64"}, cells


JSON = "application/json"
WAYS: dict[str, tuple[Callable[[list[str], list[Row]], bytes], Callable[[bytes], list[Any]], str]] = {
    "fields_values": (_table, _read_table, JSON),
    "open_inference": (_tensors, _read_tensors, JSON),
    "open_inference_binary": (_binary, _read_binary, "application/octet-stream"),
    "sagemaker_csv": (_csv, _read_csv, "text/csv"),
}
"""How each format is written and read, and its content type."""


def make_rows(count: int) -> list[Row]:
    draw = random.Random(0)
    return [[round(draw.gauss(), 4) for _ in NUMERIC] + draw.choices(KINDS, k=len(CATEGORICAL)) for _ in range(count)]


async def answer(path: str, body: bytes) -> bytes:
    codec = get_codec(PayloadFormat[path.removeprefix("/").upper()].value)
    table = codec.read_request(body, COLUMNS)
    first = table.fields.index(COLUMNS[0])
    rows = [[int(row[first] > 0), 1 / (1 + abs(row[first]))] for row in table.values]
    return codec.write_answer(["prediction", "probability"], rows)


if __name__ == "__main__":
    main()
