"""Metrics of labels and predictions themselves, which are in no roll-up."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..domain.checks import DataSet
from ..domain.deployments import ProblemType
from ..domain.values import Scalar, canonical
from ..metrics.answers import (
    MOST_CLASSES,
    ClassAnswers,
    ClassProbabilities,
    NumberAnswers,
    Unanswered,
    measure_answers,
    too_many_classes,
)
from ..metrics.answers.answer_data import NO_CLASS_PROBABILITIES
from ..metrics.catalogue import FromAnswers
from ..metrics.groups import FloatArray
from ..records.cells import JsonCells, canonical_texts, read_answers
from ..records.scores import MIXED, NO_DISTRIBUTION, NO_PLACE, OFF_ONE, OUTSIDE, find_places, parse_numbers
from .feedback import PROBABILITY
from .labelled import Labelled
from .measuring import MeasuredRows
from .picking import picked_on
from .subject import Subject
from .tabulation import EVERYBODY


def measure_labels(subject: Subject, labels: Labelled | None) -> list[MeasuredRows]:
    wanted = {one.key: one.formula for one in picked_on(subject.monitor, DataSet.FEEDBACK) if isinstance(one.measure, FromAnswers)}
    if not wanted or labels is None:
        return []
    rows = labels.window.rows
    actual, predicted = (read_answers(rows[name], subject.monitor.outcomes) for name in ("label", "predicted"))
    is_regression = subject.deployment.problem_type is ProblemType.REGRESSION
    answers = read_numbers(actual, predicted) if is_regression else read_classes(actual, predicted)
    if isinstance(answers, ClassAnswers) and PROBABILITY in rows.column_names:
        texts = {"label": actual, "predicted": predicted, PROBABILITY: rows[PROBABILITY]}
        answers = replace(answers, probabilities=read_probabilities(pa.table(texts), subject.deployment.outputs.classes))
    return [MeasuredRows(DataSet.FEEDBACK, EVERYBODY, measure_answers(answers, wanted))]


def read_classes(actual: pa.ChunkedArray, predicted: pa.ChunkedArray) -> ClassAnswers | Unanswered:
    """Classes of JSON texts [records]; records without one of the two are left out."""
    known = pc.and_(actual.is_valid(), predicted.is_valid())
    texts = [chunk for one in (actual, predicted) for chunk in canonical_texts(one.filter(known)).chunks]
    both = pa.chunked_array(texts, pa.string()).combine_chunks().dictionary_encode()
    codes, classes = both.indices.to_numpy(zero_copy_only=False), len(both.dictionary)
    n = len(codes) // 2
    if classes > MOST_CLASSES:
        return Unanswered(too_many_classes(classes), n)
    return ClassAnswers.from_records(codes[:n], codes[n:], classes)


def read_probabilities(rows: pa.Table, classes: tuple[Scalar, ...] | None) -> ClassProbabilities | str:
    """Probabilities of the classes, from JSON texts, where there are any; or why they cannot be read.

    `classes` are in the order of the probabilities. Without them each prediction shows its class: its probability is the largest.
    """
    known = pc.and_(pc.and_(rows["label"].is_valid(), rows["predicted"].is_valid()), rows[PROBABILITY].is_valid())
    part = rows.filter(known)
    table = parse_numbers(part[PROBABILITY]) if len(part) else np.zeros(0)
    if table is None:
        return MIXED
    if table.ndim == 1:
        return NO_CLASS_PROBABILITIES
    if not ((table >= 0) & (table <= 1)).all():
        return OUTSIDE
    places = _find_columns(table, part["predicted"], classes)
    if isinstance(places, str):
        return places
    labels = canonical_texts(part["label"]).to_pylist()
    strange = next((label for label in labels if label not in places), None)
    if strange is not None:
        return f"nothing shows which probability is that of the label {strange!r:.60}; state the classes in outputs.classes"
    return ClassProbabilities(table, np.array([places[label] for label in labels], dtype=np.int64))


def _find_columns(table: FloatArray, predicted: pa.ChunkedArray, classes: tuple[Scalar, ...] | None) -> Mapping[str, int] | str:
    if (np.abs(table.sum(axis=1) - 1) > OFF_ONE).any():
        return NO_DISTRIBUTION
    if classes is not None and len(classes) != table.shape[1]:
        return f"there are {table.shape[1]} probabilities for the {len(classes)} classes that the deployment states"
    if classes is not None:
        return {canonical(one): place for place, one in enumerate(classes)}
    found = find_places(table, predicted)
    return NO_PLACE if found is None else {canonical(one.value): one.place for one in found if one.place is not None}


def read_numbers(actual: pa.ChunkedArray, predicted: pa.ChunkedArray) -> NumberAnswers | Unanswered:
    """Numbers of JSON texts [records]; records without one of the two are left out."""
    numbers = [JsonCells(one).floats() for one in (actual, predicted)]
    if numbers[0] is None or numbers[1] is None:
        which = "label" if numbers[0] is None else "prediction"
        return Unanswered(f"some {which}s are no numbers", len(actual))
    known = np.isfinite(numbers[0]) & np.isfinite(numbers[1])
    return NumberAnswers(numbers[0][known], numbers[1][known])
