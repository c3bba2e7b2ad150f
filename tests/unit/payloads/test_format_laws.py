"""Laws of all payload formats over columns of one type each: what is written is read back, and hostile bodies are refused in words."""

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.base.errors import InvalidInput, PageRefused, ScoringFailed
from app.domain.deployment import FieldType, OutputFields
from app.domain.record import Prediction
from app.payloads.codec import DEFAULT_OPTIONS, RequestOptions
from app.payloads.registry import PayloadFormat, get_codec

OUTPUTS = OutputFields(prediction="verdict", probability="p", label="name")
CLASSES = OutputFields(prediction="p", probability="p", classes=("no", "yes"))
COLUMNS = ["verdict", "p", "name"]

ONE_KIND = {"open_inference_matrix"}
"""Formats in which all columns are one tensor, so of one type."""

WITHOUT_NULL = {"open_inference_binary"}
"""Formats that carry a null only among numbers with a fraction."""

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
whole = st.integers(-(2**63) + 1, 2**63 - 1)
numbers = st.floats(allow_nan=False, allow_infinity=False)
CELLS: dict[FieldType, st.SearchStrategy[Any]] = {
    FieldType.STRING: texts | st.sampled_from(["", "1", "true", "null", "NaN", 'a "quote", and\na line', " x ", "[1]", "äöü漢字🙂"]),
    FieldType.INTEGER: whole | st.sampled_from([2**53 + 1, -(2**63), 2**63 - 1]),
    FieldType.NUMBER: numbers | st.sampled_from([0.1, 1e-320, 1e308, -0.0, 1 / 3]),
    FieldType.BOOLEAN: st.booleans(),
}
CUT_TEXT = b'{"inputs":[{"name":"a","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":5}}]}\xff\0\0\0a'
"""A tensor whose text is longer than its bytes."""

formats = st.sampled_from(list(PayloadFormat))
chances = st.floats(0, 1)
shares = st.lists(chances, min_size=2, max_size=2)


@st.composite
def pages(draw: st.DrawFn, payload_format: PayloadFormat) -> tuple[tuple[FieldType, ...], list[list[Any]]]:
    """Types of some columns, and rows of them, with nulls where the format carries these."""
    width, count = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    types = draw(st.lists(st.sampled_from(list(FieldType)), min_size=width, max_size=width))
    if payload_format.value in ONE_KIND:
        types = types[:1] * width
    columns = []
    for type_ in types:
        has_nulls = payload_format.value not in WITHOUT_NULL or type_ is FieldType.NUMBER
        cells = st.none() | CELLS[type_] if has_nulls else CELLS[type_]
        columns.append(draw(st.lists(cells, min_size=count, max_size=count)))
    return tuple(types), [list(row) for row in zip(*columns, strict=True)]


def same(found: Sequence[Sequence[Any]], expected: Sequence[Sequence[Any]]) -> bool:
    """Equal to the bit: 1, 1.0 and True differ, as do 0.0 and -0.0."""
    return [[(type(cell), repr(cell)) for cell in row] for row in found] == [[(type(cell), repr(cell)) for cell in row] for row in expected]


@given(st.data(), formats)
@pytest.mark.thorough
def test_the_rows_of_a_request_are_read_back_as_they_were(data: st.DataObject, payload_format: PayloadFormat) -> None:
    types, rows = data.draw(pages(payload_format))
    columns = [f"c{place}" for place in range(len(types))]

    body = payload_format.codec.write_request(columns, rows, options=RequestOptions(outputs=OUTPUTS, types=types))
    table = payload_format.codec.read_request(body, columns)

    assert table.fields == columns
    assert same(table.values, rows)


@given(formats, st.lists(st.tuples(texts.filter(bool), chances, texts), min_size=1, max_size=5))
def test_an_answer_is_read_back_row_by_row(payload_format: PayloadFormat, rows: list[tuple[Any, Any, Any]]) -> None:
    body = payload_format.codec.write_answer(COLUMNS, rows)

    found = payload_format.codec.read_answer(body, outputs=OUTPUTS, expected_rows=len(rows))

    assert found.predictions == [Prediction(*row) for row in rows]
    assert found.predictions == payload_format.codec.read_answer(body, outputs=OUTPUTS, expected_rows=len(rows)).predictions


@given(formats, st.lists(st.tuples(st.booleans(), shares, whole), min_size=1, max_size=5))
def test_lists_of_probabilities_and_other_types_of_outputs_are_read_back(payload_format: PayloadFormat, rows: list[Any]) -> None:
    body = payload_format.codec.write_answer(COLUMNS, rows)

    found = payload_format.codec.read_answer(body, outputs=OUTPUTS, expected_rows=len(rows)).predictions

    assert found == [Prediction(prediction, tuple(p), label) for prediction, p, label in rows]


@given(formats, st.lists(shares.map(lambda two: [two]), min_size=1, max_size=5))
def test_probabilities_alone_give_the_likeliest_class(payload_format: PayloadFormat, rows: list[Any]) -> None:
    body = payload_format.codec.write_answer(["p"], rows)

    found = payload_format.codec.read_answer(body, outputs=CLASSES, expected_rows=len(rows)).predictions

    assert found == [Prediction("no" if p[0] >= p[1] else "yes", tuple(p)) for (p,) in rows]


MEMBERS = (
    *("instances", "inputs", "outputs", "predictions", "features", "dataframe_split", "columns", "data", "fields", "values"),
    *("name", "shape", "datatype", "parameters", "binary_data_size", "verdict", "p", "input_data", "dataframe_records"),
)
jsons = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(MEMBERS),
            inner | st.sampled_from(["INT64", "BYTES", [1], [1, 1], [2, -1], 10**30]),
            max_size=5,
        ),
    ),
    max_leaves=14,
)
tensors = st.fixed_dictionaries(
    {"name": st.sampled_from(["verdict", "p"]), "shape": jsons | st.just([1]), "datatype": st.sampled_from(["INT64", "BYTES", "FP16"])},
    optional={"data": jsons, "parameters": st.fixed_dictionaries({"binary_data_size": jsons | st.just(8)})},
)
protocols = st.fixed_dictionaries({}, optional={"inputs": st.lists(tensors, max_size=2), "outputs": st.lists(tensors, max_size=2)})


@given(formats, st.builds(lambda document, rest: json.dumps(document).encode() + rest, jsons | protocols, st.binary(max_size=9)))
@example(PayloadFormat.OPEN_INFERENCE_BINARY, CUT_TEXT)
def test_any_body_is_a_request_or_refused_with_a_field(payload_format: PayloadFormat, body: bytes) -> None:
    try:
        table = payload_format.codec.read_request(body, ["a", "b"])
    except InvalidInput as refused:
        found = [problem.field for problem in refused.problems if problem.message]
    else:
        found = ["" if len(row) != len(table.fields) else "row" for row in table.values]

    assert all(found)


@given(formats, st.binary(max_size=30) | st.text(alphabet='a1",.\n[]{}:', max_size=20).map(str.encode))
def test_any_bytes_are_a_request_or_refused(payload_format: PayloadFormat, body: bytes) -> None:
    try:
        table = payload_format.codec.read_request(body, ["a", "b"])
    except InvalidInput:
        return

    assert all(len(row) == len(table.fields) for row in table.values)


@given(
    formats,
    st.builds(lambda document, rest: json.dumps(document).encode() + rest, jsons | protocols, st.binary(max_size=9))
    | st.text(alphabet='a1",.\n[]{}:', max_size=20).map(str.encode),
    st.integers(0, 3),
    st.sampled_from([OUTPUTS, CLASSES, OutputFields(), OutputFields(probability="p", classes=(0, 1))]),
)
def test_any_answer_gives_usable_predictions_or_a_clear_failure(
    payload_format: PayloadFormat, body: bytes, rows: int, outputs: OutputFields
) -> None:
    try:
        found = get_codec(payload_format).read_answer(body, outputs=outputs, expected_rows=rows).predictions
    except ScoringFailed:
        return

    assert len(found) == rows
    assert all(not isinstance(answer.prediction, float) or math.isfinite(answer.prediction) for answer in found)


@pytest.mark.parametrize("payload_format", list(PayloadFormat))
@pytest.mark.parametrize("cell", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_not_sent(payload_format: PayloadFormat, cell: float) -> None:
    with pytest.raises(ScoringFailed, match="carry"):
        payload_format.codec.write_request(["x"], [[cell]], options=DEFAULT_OPTIONS)


@pytest.mark.parametrize("payload_format", list(PayloadFormat))
def test_half_of_a_surrogate_pair_is_not_sent(payload_format: PayloadFormat) -> None:
    with pytest.raises(ScoringFailed):
        payload_format.codec.write_request(["x"], [["\ud800"]])


@pytest.mark.parametrize("payload_format", [row for row in PayloadFormat if row.value in WITHOUT_NULL])
def test_a_null_that_a_format_cannot_carry_costs_its_record_alone(payload_format: PayloadFormat) -> None:
    with pytest.raises(PageRefused, match="Row 2 of a page holds null in age") as refused:
        payload_format.codec.write_request(["age"], [[1], [None]], options=RequestOptions(types=(FieldType.INTEGER,)))

    assert refused.value.answer == "null in the INT64 tensor 'age'"


@pytest.mark.parametrize("payload_format", list(PayloadFormat))
@pytest.mark.parametrize("spelled", [1, 1.0, "1"])
def test_one_class_has_one_spelling_if_the_deployment_lists_it(payload_format: PayloadFormat, spelled: object) -> None:
    outputs = OutputFields(classes=(0, 1))
    body = payload_format.codec.write_answer(["prediction"], [[spelled]])

    (found,) = payload_format.codec.read_answer(body, outputs=outputs, expected_rows=1).predictions

    assert (type(found.prediction), found.prediction) == (int, 1)
