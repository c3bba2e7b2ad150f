"""Controls sheet as data, unrounded."""

from dataclasses import asdict
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..records.cells import MISSING
from .adjusted import ControlledCount, adjusted_odds
from .four_fifths import ImpactRow
from .people import AttributeCategories, CountedPeople, count_category, name_reference, reference_rows, strata_of
from .stratified import Stratum, stratified_odds

Json: TypeAlias = dict[str, Any]
Rows: TypeAlias = npt.NDArray[np.bool_]

NO_CONTROLS = "no control was chosen; name columns that decisions may lawfully depend on, such as experience"


def controls_sheet(people: CountedPeople) -> Json:
    names = [one.name for one in people.controls]
    notes = [one.note for one in people.controls if one.note]
    if not names:
        return {"controls": [], "notes": [], "tables": [], "reason": NO_CONTROLS}
    tables = []
    for attribute in people.attributes:
        reference, name = reference_rows(attribute), name_reference(attribute)
        has_reference = people.count(reference & people.is_assessed) > 0
        rows = [
            _controlled_row(people, attribute, place, reference)
            for place in range(len(attribute.labels))
            if attribute.roles[place] != "reference" and people.count((attribute.codes == place) & people.is_assessed)
        ]
        tables.append({"attribute": attribute.feature, "reference": name, "rows": rows if has_reference else []})
    return {"controls": names, "notes": notes, "tables": tables, "reason": None}


def _controlled_row(people: CountedPeople, attribute: AttributeCategories, place: int, reference: Rows) -> Json:
    mine, strata = attribute.codes == place, strata_of(people)
    used = (mine | reference) & people.is_assessed & (strata != MISSING)
    # Only combinations that occur: the product of controls may be far larger than the log.
    found, each = np.unique(strata[used], return_inverse=True)
    cells = np.zeros((found.size, 4), dtype=np.int64)
    side = np.where(mine[used], 0, 2) + np.where(people.is_selected[used], 0, 1)
    np.add.at(cells, (each, side), people.records[used])
    sizes = [len(one.labels) for one in people.controls]
    values = [
        tuple(one.labels[int(part)] for one, part in zip(people.controls, np.unravel_index(code, sizes), strict=True))
        for code in found.tolist()
    ]
    category = count_category(people, attribute.labels[place], mine)
    other = count_category(people, name_reference(attribute), reference)
    strata_cells = [Stratum(*row) for row in cells.tolist()]
    counts = [
        count
        for names, row in zip(values, cells.tolist(), strict=True)
        for count in (ControlledCount(names, True, row[0], row[1]), ControlledCount(names, False, row[2], row[3]))
    ]
    crude = ImpactRow(category, other, is_small=False).odds_ratio
    return {
        "category": category.label,
        "people": int(cells.sum()),
        "without_control": people.count((mine | reference) & people.is_assessed & (strata == MISSING)),
        "crude": None if crude is None else asdict(crude),
        "mantel_haenszel": asdict(stratified_odds(category, other, strata_cells)),
        "logit": asdict(adjusted_odds(category, other, counts)),
    }
