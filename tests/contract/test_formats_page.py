"""The table of the formats page: every format is in it, its request is what is sent, and its answer is read."""

import json
import re
from pathlib import Path

import pytest

from app.domain.deployment import BodyMapping, OutputFields
from app.domain.record import Prediction
from app.payloads.mapped_json import MappedCodec
from app.payloads.registry import PayloadFormat

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "connect-a-model.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = {
    cells[0]: cells[2:]
    for cells in re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", TEXT, re.MULTILINE)
    if cells[0] in list(PayloadFormat)
}
SHOWN = {name: [cell.strip("`").replace("⏎", "\n").encode() for cell in cells] for name, cells in ROWS.items() if cells[0].startswith("`")}
COLUMNS = ["age", "sex"]


def test_every_format_is_on_the_page() -> None:
    assert set(ROWS) == set(PayloadFormat)
    assert set(PayloadFormat) - set(SHOWN) == {"open_inference_binary", "mapped"}


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_a_request_and_an_answer_of_the_page_are_those_of_the_format(name: str) -> None:
    codec = PayloadFormat(name).codec
    request, answer = SHOWN[name]
    row = [35, 1.5] if name == "open_inference_matrix" else [35, "f"]

    written = codec.write_request(COLUMNS, [row])

    assert codec.read_request(request, COLUMNS).values == codec.read_request(written, COLUMNS).values == [row]
    if name == "open_inference_matrix":  # each request has an id of its own
        written = json.dumps({member: value for member, value in json.loads(written).items() if member != "id"}).encode()
    assert name == "open_inference" or written == request or json.loads(written) == json.loads(request)
    assert codec.read_answer(answer, outputs=OutputFields(), expected_rows=1).predictions == [Prediction(1)]


def test_the_mapping_of_the_page_gives_its_request_and_reads_its_answer() -> None:
    blocks = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)]
    mapping, request, answer = blocks[-3:]
    codec = MappedCodec(BodyMapping(**mapping["mapping"]))

    assert json.loads(codec.write_request(COLUMNS, [[35, "f"]])) == request
    assert codec.read_answer(json.dumps(answer).encode(), outputs=OutputFields(), expected_rows=1).predictions == [Prediction(1)]
