"""Reports on the selections in a frame, by the rule of a preset."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..domain.category_schemes import CategoryMapping, require_mappings
from ..errors import InvalidInput
from ..impact.four_fifths import compare_categories
from ..impact.local_law_144 import LEAST_SHARE, audit_tables
from ..impact.presets import NOTICE, PRESETS, Preset, PresetName, SheetName
from ..impact.sheets import ImpactSheet, Sheet, as_json, name_of
from ..impact.weighted import WeightedTable, weighted_json
from .categories import Selection, count_scored, count_selected
from .mapping import map_values, weigh_frame

PROBABILISTIC = "probabilistic"
"""Name of the sheet of probabilistic categories."""


@dataclass(frozen=True, slots=True)
class SelectionReport:
    """The sheets of a preset, and the counts that they are made of. `score` is the column whose median decides, of a tool that scores."""

    name: PresetName
    attributes: tuple[str, ...]
    score: str | None
    selection: Selection
    sheets: tuple[Sheet, ...]
    weighted: tuple[WeightedTable, ...] = ()

    @property
    def preset(self) -> Preset:
        """Returns the rule that the report is made for."""
        return PRESETS[self.name]

    def to_json(self) -> dict[str, Any]:
        """Returns the report as JSON."""
        return {
            "preset": self.name.value,
            "source": self.preset.source,
            "assessed": self.selection.assessed,
            "not_assessed": self.selection.not_assessed,
            "median_score": self.selection.median,
            "sheets": {name_of(sheet).value: as_json(sheet) for sheet in self.sheets}
            | ({PROBABILISTIC: weighted_json(self.weighted)} if self.weighted else {}),
            "not_in_file": list(self.preset.not_in_file),
            "notice": NOTICE,
        }


def report_selections(  # noqa: PLR0913 - one keyword for each column, as in measure_frame
    frame: pd.DataFrame,
    *,
    preset: str,
    attribute: str | Sequence[str],
    prediction: str | None = None,
    score: str | None = None,
    favourable: object = 1,
    unfavourable: object = None,
    least_share: float = LEAST_SHARE,
    categories: Sequence[CategoryMapping] = (),
) -> SelectionReport:
    """Reports which people a tool selected, by the rule of a preset: `ll144` or `ugesp`.

    A tool that selects has a `prediction`, of which values are `favourable`; a tool that scores has a `score`, and everybody with
    more than the median counts as selected. Categories with less than `least_share` (0 to below 1) of the people are left out of the
    impact ratios of `ll144`. An empty value of an attribute is an unknown category. `categories` map values of attributes to the
    categories of a scheme, or name columns of weights, which make a sheet of their own.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    if preset not in list(PresetName):
        raise InvalidInput.of("preset", f"must be one of {', '.join(PresetName)}, found {preset!r:.100}")
    if not 0 <= least_share < 1:
        raise InvalidInput.of("least_share", f"must be a share from 0 to below 1, found {least_share!r:.100}")
    attributes = (attribute,) if isinstance(attribute, str) else tuple(attribute)
    if (prediction is None) == (score is None):
        raise InvalidInput.of("prediction", "must be given for a tool that selects, or `score` for a tool that scores; one of the two")
    require_mappings(categories)
    frame = map_values(frame, attributes, categories)
    if prediction is not None:
        selection = count_selected(frame, attributes=attributes, prediction=prediction, favourable=favourable, unfavourable=unfavourable)
    else:
        selection = count_scored(frame, attributes=attributes, score=str(score))
    name = PresetName(preset)
    sheets: list[Sheet] = []
    for sheet in PRESETS[name].sheets:
        if sheet is SheetName.LL144:
            sheets.append(audit_tables(selection.tables, unknown=selection.unknown, least_share=least_share))
        else:
            sheets.append(ImpactSheet(tuple(compare_categories(one) for one in selection.tables), selection.unknown))
    weighted = weigh_frame(frame, categories, selection.answers)
    return SelectionReport(name, attributes, score, selection, tuple(sheets), weighted)
