import hashlib
import pickle
from collections import OrderedDict
from decimal import Decimal
from pathlib import PurePosixPath

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("skops", reason="the extra detector is not installed")

from sklearn.linear_model import LogisticRegression
from skops import io
from threadpoolctl import ThreadpoolController

from app.base.errors import InvalidInput
from app.base.values import Scalar
from app.mitigation.detector import bias_detector as module
from app.mitigation.detector.bias_detector import LIBRARY, TRUSTED_TYPES, BiasDetector
from tests.builders.refused_women import refused
from tests.examples import many

MARK = b"evenhand bias detector 1\n"
DETECTOR = refused(400).detector()
STORED = DETECTOR.to_bytes()
AGAIN = BiasDetector.from_bytes(STORED)

cells = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
records = st.tuples(cells, cells, cells)
scores = st.none() | st.floats(0, 1)


def sealed(content: object) -> bytes:
    """That content under a digest that fits."""
    packed = io.dumps(content)
    return MARK + hashlib.sha256(packed).digest() + packed


@given(st.lists(st.tuples(records, scores), max_size=20))
@settings(max_examples=many(60))
@pytest.mark.thorough
def test_a_detector_that_was_stored_gives_the_same_scores(asked: list[tuple[tuple[Scalar | None, ...], float | None]]) -> None:
    rows, own = [row for row, _ in asked], [score for _, score in asked]

    assert AGAIN.score(rows, own).tolist() == DETECTOR.score(rows, own).tolist()


def test_a_detector_that_was_stored_is_the_same_in_all_it_says() -> None:
    again = BiasDetector.from_bytes(BiasDetector.from_bytes(STORED).to_bytes())

    assert (again.threshold, again.counts, again.quality) == (DETECTOR.threshold, DETECTOR.counts, DETECTOR.quality)
    assert again.encoding == DETECTOR.encoding


def test_exactly_the_types_that_are_needed_are_trusted() -> None:
    packed = STORED[len(MARK) + 32 :]

    assert tuple(io.get_untrusted_types(data=packed)) == TRUSTED_TYPES


@given(st.integers(0, len(STORED) - 1), st.integers(1, 255))
@settings(max_examples=100)
def test_a_changed_byte_is_noticed(place: int, difference: int) -> None:
    spoilt = bytearray(STORED)
    spoilt[place] ^= difference

    with pytest.raises(InvalidInput, match="damaged"):
        BiasDetector.from_bytes(bytes(spoilt))


@pytest.mark.parametrize(
    "stored",
    [b"", b"PK", STORED[:-1], STORED[:40], STORED + b"\0", pickle.dumps({"classifier": 1})],
    ids=["nothing", "archive", "cut off", "only its head", "more behind it", "pickle"],
)
def test_what_is_no_detector_is_refused(stored: bytes) -> None:
    with pytest.raises(InvalidInput, match="is no bias detector, or was damaged"):
        BiasDetector.from_bytes(stored)


def test_another_kind_of_object_is_not_even_made() -> None:
    content = {"classifier": PurePosixPath("/etc/passwd"), "description": "{}"}

    with pytest.raises(InvalidInput, match=r"types that are not trusted.*PurePosixPath"):
        BiasDetector.from_bytes(sealed(content))


def test_a_function_that_is_not_trusted_is_not_reached_through_one_that_is() -> None:
    content = {"classifier": ThreadpoolController, "description": "{}"}

    with pytest.raises(InvalidInput, match=r"types that are not trusted.*ThreadpoolController"):
        BiasDetector.from_bytes(sealed(content))


@pytest.mark.parametrize("content", [[1, 2], {"classifier": 7}, {"classifier": LogisticRegression()}, {}, "text", OrderedDict()])
def test_trusted_objects_that_are_no_detector_are_refused(content: object) -> None:
    with pytest.raises(InvalidInput, match="holds no classifier of a bias detector"):
        BiasDetector.from_bytes(sealed(content))


@pytest.mark.parametrize("description", [None, 7, "", "{}", '{"made_by": 3}'])
def test_a_detector_without_its_description_is_refused(description: object) -> None:
    content = {"classifier": DETECTOR.classifier, "description": description}

    with pytest.raises(InvalidInput, match="has no description"):
        BiasDetector.from_bytes(sealed(content))


def test_bytes_that_are_no_archive_are_refused() -> None:
    packed = b"no archive"

    with pytest.raises(InvalidInput, match="cannot be read as a bias detector"):
        BiasDetector.from_bytes(MARK + hashlib.sha256(packed).digest() + packed)


def test_a_detector_of_another_version_of_the_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIBRARY", "scikit-learn 99")
    stored = DETECTOR.to_bytes()
    monkeypatch.undo()

    with pytest.raises(InvalidInput, match=f"was written by scikit-learn 99 and cannot be used by {LIBRARY}"):
        BiasDetector.from_bytes(stored)


def test_the_description_is_plain_json() -> None:
    packed = STORED[len(MARK) + 32 :]
    description = io.loads(packed, trusted=list(TRUSTED_TYPES))["description"]

    assert Decimal(str(msgspec.json.decode(description)["threshold"])) == Decimal(str(DETECTOR.threshold))
