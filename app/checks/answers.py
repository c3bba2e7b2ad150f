"""Metrics of labels and predictions themselves: averages over the classes, and errors of predicted numbers. They are in no roll-up."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..domain.checks import DataSet
from ..domain.deployments import ProblemType
from ..metrics.answers import MOST_CLASSES, ClassAnswers, NumberAnswers, Unanswered, measure_answers, too_many_classes
from ..metrics.catalogue import FromAnswers
from ..records.cells import JsonCells, canonical_texts
from .labelled import Labelled
from .picking import picked_on
from .rows import MeasuredRows
from .subject import Subject
from .tabulation import EVERYBODY


def measure_labels(subject: Subject, labels: Labelled | None) -> list[MeasuredRows]:
    """Returns the picked metrics of labels and predictions themselves, of everybody; nothing where none is picked, or no label is there."""
    wanted = {one.key: one.formula for one in picked_on(subject.monitor, DataSet.FEEDBACK) if isinstance(one.measure, FromAnswers)}
    if not wanted or labels is None:
        return []
    actual, predicted = labels.window.rows["label"], labels.window.rows["predicted"]
    is_regression = subject.deployment.problem_type is ProblemType.REGRESSION
    answers = read_numbers(actual, predicted) if is_regression else read_classes(actual, predicted)
    return [MeasuredRows(DataSet.FEEDBACK, EVERYBODY, measure_answers(answers, wanted))]


def read_classes(actual: pa.ChunkedArray, predicted: pa.ChunkedArray) -> ClassAnswers | Unanswered:
    """Returns the classes of JSON texts [records]; records without one of the two are left out."""
    known = pc.and_(actual.is_valid(), predicted.is_valid())
    # Together, so that a class has one code as a label and as a prediction.
    texts = [chunk for one in (actual, predicted) for chunk in canonical_texts(one.filter(known)).chunks]
    both = pa.chunked_array(texts, pa.string()).combine_chunks().dictionary_encode()
    codes, classes = both.indices.to_numpy(zero_copy_only=False), len(both.dictionary)
    n = len(codes) // 2
    if classes > MOST_CLASSES:
        return Unanswered(too_many_classes(classes), n)
    return ClassAnswers.from_records(codes[:n], codes[n:], classes)


def read_numbers(actual: pa.ChunkedArray, predicted: pa.ChunkedArray) -> NumberAnswers | Unanswered:
    """Returns the numbers of JSON texts [records]; records without one of the two are left out."""
    numbers = [JsonCells(one).floats() for one in (actual, predicted)]
    if numbers[0] is None or numbers[1] is None:
        which = "label" if numbers[0] is None else "prediction"
        return Unanswered(f"some {which}s are no numbers", len(actual))
    known = np.isfinite(numbers[0]) & np.isfinite(numbers[1])
    return NumberAnswers(numbers[0][known], numbers[1][known])
