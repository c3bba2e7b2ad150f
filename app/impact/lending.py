"""Lending sheet as data, unrounded."""

from dataclasses import asdict
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..records.cells import MISSING
from .four_fifths import ImpactRow
from .people import AttributeCategories, CountedPeople, count_category, name_reference, reference_rows, strata_of
from .score_gaps import quantile_ratios, residual_gap, score_gap

Json: TypeAlias = dict[str, Any]
Rows: TypeAlias = npt.NDArray[np.bool_]

NO_REFERENCE = "nobody is of the reference, so there is nothing to compare with"
NO_OTHER = "everybody of known category is of the reference, {name}, so there is nobody to compare"


def lending_sheet(people: CountedPeople) -> Json:
    tables = []
    for attribute in people.attributes:
        reference, rows = reference_rows(attribute), []
        name = name_reference(attribute)
        has_reference = people.count(reference & people.is_assessed) > 0
        for place, label in enumerate(attribute.labels):
            if attribute.roles[place] == "reference" or not has_reference:
                continue
            chosen = attribute.codes == place
            row = ImpactRow(count_category(people, label, chosen), count_category(people, name, reference), is_small=False)
            if not row.category.applicants:
                continue
            rows.append(
                {
                    "category": label,
                    "applicants": row.category.applicants,
                    "selected": row.category.selected,
                    "rate": row.category.rate,
                    "air": row.ratio,
                    "air_reason": row.ratio_reason,
                    "air_low": None if row.interval is None else row.interval.lower,
                    "air_high": None if row.interval is None else row.interval.upper,
                    "score": _score_part(people, attribute, place, reference),
                }
            )
        reason = None if rows else (NO_OTHER.format(name=name) if has_reference else NO_REFERENCE)
        tables.append({"attribute": attribute.feature, "reference": name, "rows": rows, "reason": reason})
    no_scores = people.no_scores if people.scores is None else None
    return {"tables": tables, "no_scores": no_scores, "controls": [one.name for one in people.controls], "sigma": SIGMA, "reason": None}


SIGMA = "sd_all is the standard deviation of the scores of everybody, of unknown categories, too; sd_within that within the two categories"


def _score_part(people: CountedPeople, attribute: AttributeCategories, place: int, reference: Rows) -> Json | None:
    scores, times = people.scores, people.records
    if scores is None:
        return None
    scored = ~np.isnan(scores)
    mine, others = scored & (attribute.codes == place), scored & reference
    mine_scores, others_scores, all_scores = (
        np.asarray(np.repeat(scores[rows], times[rows]), dtype=np.float64) for rows in (mine, others, scored)
    )
    label, name = attribute.labels[place], name_reference(attribute)
    gap = score_gap(mine_scores, others_scores, all_scores, name=label, reference_name=name)
    found: Json = {"gap": asdict(gap), "quantiles": [], "residual": None}
    if mine_scores.size and others_scores.size:
        found["quantiles"] = [asdict(one) for one in quantile_ratios(mine_scores, others_scores, all_scores)]
    if people.controls and gap.smd is not None and gap.sd_all is not None:
        strata = strata_of(people)
        both = (mine | others) & (strata != MISSING)
        # One entry a record: least squares would weigh rows that count several as one.
        times = people.records[both]
        is_category, codes = np.repeat(mine[both], times), np.repeat(strata[both], times)
        found["residual"] = asdict(residual_gap(is_category, np.repeat(scores[both], times), codes, gap.sd_all))
    return found
