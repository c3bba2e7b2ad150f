"""The faster way to the outputs of objects reads and refuses as the general one does."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.deployments import OutputFields
from app.errors import ScoringFailed
from app.payloads.codec import Codec
from app.payloads.json_records import RecordsCodec
from app.payloads.kserve import KserveCodec
from app.payloads.sagemaker import SagemakerLinesCodec

OUTPUTS = OutputFields(prediction="answer", probability="chance")
WITH_LABEL = OutputFields(prediction="answer", probability="chance", label="class")

cells = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(0, 1), st.text(max_size=3), st.just([0.5]))
rows = st.fixed_dictionaries(
    {"answer": st.one_of(st.integers(0, 2), st.text(max_size=2), cells), "chance": st.one_of(st.floats(0, 1), cells)},
    optional={"class": cells, "prediction": cells},
)


def written(codec: Codec, listed: list[Any]) -> bytes:
    if isinstance(codec, SagemakerLinesCodec):
        return b"".join(json.dumps(one).encode() + b"\n" for one in listed)
    return json.dumps(listed if isinstance(codec, RecordsCodec) else {"predictions": listed}).encode()


def read(codec: Codec, body: bytes, outputs: OutputFields, count: int, *, whole: bool) -> object:
    try:
        if whole:
            return codec.read_answer(body, outputs=outputs, expected_rows=count).predictions
        return codec.read_predictions(body, outputs=outputs, expected_rows=count)
    except ScoringFailed as error:
        return str(error)


@given(
    codec=st.sampled_from([KserveCodec(), RecordsCodec(), SagemakerLinesCodec()]),
    outputs=st.sampled_from([OUTPUTS, WITH_LABEL, OutputFields(prediction="answer")]),
    members=st.sets(st.sampled_from(["answer", "chance", "class", "prediction"]), min_size=1),
    listed=st.lists(rows, min_size=1, max_size=4),
)
def test_outputs_alone_are_those_of_the_whole_answer(codec: Codec, outputs: OutputFields, members: set[str], listed: list[Any]) -> None:
    alike = [{name: row.get(name, 0) for name in sorted(members)} for row in listed]
    body = written(codec, alike)

    for count in (len(alike), len(alike) + 1):
        quick, whole = (read(codec, body, outputs, count, whole=one) for one in (False, True))
        assert repr(quick) == repr(whole)


@pytest.mark.parametrize("codec", [KserveCodec(), RecordsCodec(), SagemakerLinesCodec()])
def test_members_that_are_no_outputs_may_differ_from_row_to_row(codec: Codec) -> None:
    body = written(codec, [{"answer": 1, "chance": 0.5, "x": 1}, {"answer": 0, "chance": 0.25}])

    assert len(codec.read_predictions(body, outputs=OUTPUTS, expected_rows=2)) == 2


def test_outputs_of_equal_classes_and_other_types_are_kept_apart() -> None:
    body = written(RecordsCodec(), [{"answer": "1", "chance": 0.5}])
    for one in (1, 1.0):
        outputs = OutputFields(prediction="answer", probability="chance", classes=(0, one))
        found = RecordsCodec().read_predictions(body, outputs=outputs, expected_rows=1)
        assert repr(found[0].prediction) == repr(one)


@pytest.mark.parametrize("chance", [2, 1.5, -1, 10**400])
def test_a_number_that_is_no_probability_is_named_as_it_was_sent(chance: float) -> None:
    body = written(RecordsCodec(), [{"answer": 1, "chance": 0.5}, {"answer": 0, "chance": chance}])

    with pytest.raises(ScoringFailed, match=f"gave the probability {chance!r}; a probability lies between 0 and 1"):
        RecordsCodec().read_predictions(body, outputs=OUTPUTS, expected_rows=2)
