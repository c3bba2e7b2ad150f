"""Subgroups of a DataFrame that nobody listed, found by a scan."""

from collections.abc import Sequence
from datetime import date

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput
from ..base.values import frozen
from ..statistics.e_values.nulls import UnfairSide
from ..statistics.group_labels import NEITHER, BoolArray, Codes
from ..statistics.scan.scan_results import MAX_VALUES, Bins, SearchResult, search_groups
from ..statistics.scan.search_subgroup import MAX_FEATURES, MIN_RECORDS
from ..statistics.sentences.left_out import CountedRecords, count_records
from .frame_columns import Column, convert_numbers, encode, is_numeric, require_column
from .frame_hours import first_of_each, read_hours
from .frame_outcomes import FAVOURABLE, UNCLASSIFIED, OutcomeLists, read_outcomes
from .hours_of_groups import check_arguments
from .measurements import encode_strata

MAX_STRATA = 50


@frozen
class GroupSearch:
    result: SearchResult
    records: CountedRecords


def find_groups(
    frame: pd.DataFrame,
    *,
    features: Sequence[str],
    time: str | None = None,
    prediction: str | None = None,
    label: str | None = None,
    strata: str | None = None,
    person: str | None = None,
    favourable: object = 1,
    unfavourable: object = None,
    direction: str = "below",
    seed: int = 0,
    time_format: str | None = None,
    earliest: date | str | None = None,
) -> GroupSearch:
    """Looks for the subgroup whose favourable rate falls short most (or is furthest ahead, `direction`
    "above").

    One scan over up to eight `features` reads all records. A subgroup that chance alone would find in at most
    5 % of scans is named, by its rule over the features; with `strata`, records are compared with those of
    the same stratum. Of each `person` only the first record counts, by `time` or else in the order of the
    frame. Outcomes are those of `prediction`, else of `label`.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    if direction not in tuple(UnfairSide):
        raise InvalidInput("direction", f"must be 'below' or 'above', found {direction!r:.100}")
    check_arguments(frame, prediction, label)
    answered = read_outcomes(
        frame, label if prediction is None else None, prediction, OutcomeLists.of(favourable, unfavourable)
    )
    outcomes = answered.rated
    counted = outcomes.codes != UNCLASSIFIED
    reasons = {}
    seconds = (
        np.arange(len(frame)) if time is None else read_hours(frame, time, time_format, earliest).seconds
    )
    if person is not None:
        is_first = first_of_each(require_column(frame, person, "person"), seconds)
        counted &= is_first
        reasons = {"repeated_person": ~is_first}
    names = (
        [features] if isinstance(features, str) else list(features) if isinstance(features, Sequence) else []
    )
    if not 1 <= len(names) <= MAX_FEATURES or len(set(map(str, names))) < len(names):
        raise InvalidInput("features", f"must name 1 to {MAX_FEATURES} columns, each once")
    binned = [bin_feature(require_column(frame, name, "features"), counted) for name in names]
    of_stratum = None
    if strata is not None:
        encoded = encode_strata(require_column(frame, strata, "strata"))
        if len(encoded.labels) > MAX_STRATA:
            raise InvalidInput(
                "strata",
                f"{strata!r} holds {len(encoded.labels):,} different values where at most {MAX_STRATA} are "
                "compared",
            )
        of_stratum = np.unique(np.asarray(encoded.codes), return_inverse=True)[1].astype(int)[counted]
    if counted.sum() < 2 * MIN_RECORDS:
        raise InvalidInput(
            answered.answers[:-1],
            f"has {counted.sum()} records that count, and a scan needs {2 * MIN_RECORDS}",
        )
    result = search_groups(
        [bins for bins, _ in binned],
        np.column_stack([codes for _, codes in binned])[counted],
        (outcomes.codes == FAVOURABLE)[counted],
        strata=of_stratum,
        direction=UnfairSide(direction),
        seed=seed,
    )
    records = count_records(
        "",
        (),
        np.full(len(frame), NEITHER),
        outcomes.codes,
        answers=answered.answers,
        lacks_answer=outcomes.is_missing,
        excluded=reasons,
    )
    return GroupSearch(result, records)


def bin_feature(column: Column, counted: BoolArray) -> tuple[Bins, Codes]:
    """Division for the records that are `counted` [N], and each record's position [N].

    Raises:
        InvalidInput: too many values, or values that are neither text, numbers nor true/false.
    """
    name = str(column.name)
    if is_numeric(column) and column[counted].nunique() > MAX_VALUES:
        numbers = convert_numbers(column, "features")
        values, counts = np.unique(numbers[counted & ~np.isnan(numbers)], return_counts=True)
        bins = Bins.choose(name, dict(zip(values.tolist(), counts.tolist(), strict=True)))
        return bins, bins.encode_numbers(numbers)
    encoded = encode(column, "features")
    counts = np.bincount(encoded.codes[counted & (encoded.codes >= 0)], minlength=len(encoded.texts))
    bins = Bins.choose(name, dict(zip(encoded.texts, counts.tolist(), strict=True)))
    # The code -1 is the last place.
    return bins, np.append(bins.encode_texts(encoded.texts), bins.missing)[encoded.codes]
