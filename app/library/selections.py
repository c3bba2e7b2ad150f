"""Reports on the selections in a frame, by the rule of a preset, and categories of its people."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from pandas import DataFrame

from ..base.errors import InvalidInput
from ..base.values import TOGETHER, canonical, frozen, frozen_arrays
from ..domain.monitor import Comparison
from ..statistics.group_labels import NEITHER, ComparedGroup, IntArray, cross_codes
from ..statistics.selections.category_people import (
    AttributeCategories,
    Category,
    CategoryMapping,
    CategoryTable,
    Control,
    CountedPeople,
    divide_numbers,
    find_highest_rate,
    has_many_numbers,
    require_mappings,
)
from ..statistics.selections.controls_sheet import build_controls_sheet
from ..statistics.selections.four_fifths import (
    MIN_SHARE_OF_PEOPLE,
    AuditSheet,
    audit_tables,
    compare_with_reference,
    describe_impact,
    list_large,
)
from ..statistics.selections.lending_sheet import bound_categories, build_bounds_sheet, build_lending_sheet
from ..statistics.selections.selection_presets import NOTICE, PRESETS, Preset, ReportPreset, SheetName
from ..statistics.sentences.left_out import CountedRecords, Marks, count_records
from .frame_columns import MISSING, Encoded, convert_numbers, encode, is_numeric_column, require_column
from .frame_groups import read_attribute_names
from .frame_report import FAVOURABLE, UNCLASSIFIED, UNFAVOURABLE, OutcomeLists, classify_outcomes

Sheets = dict[SheetName, Mapping[str, Any]]

References = Mapping[str, Sequence[str]]
"""Categories that others are compared with, by attribute."""

MAX_CATEGORIES = 500


@frozen
class Selection:
    """Selected people: tables of each attribute and, of several, of all together, and the records of each.

    `assessed` people have a prediction or a score. `unknown` ones lack a value of an attribute.
    """

    tables: tuple[CategoryTable, ...]
    records: tuple[CountedRecords, ...]
    answers: "PersonAnswers"
    assessed: int
    unknown: int


def count_selected(
    frame: DataFrame,
    *,
    attributes: Sequence[str],
    prediction: str,
    favourable: object = 1,
    unfavourable: object = None,
) -> Selection:
    """Counts people; those with a favourable prediction are selected. An empty value of an attribute is
    unknown.
    """
    outcomes = classify_outcomes(
        require_column(frame, prediction, "prediction"),
        OutcomeLists.of(favourable, unfavourable),
        "prediction",
    )
    answers = PersonAnswers(
        outcomes.codes != UNCLASSIFIED, outcomes.codes == FAVOURABLE, "predictions", outcomes.is_missing
    )
    if not answers.are_assessed.any():
        raise InvalidInput("prediction", f"{prediction!r} has no value that is favourable or unfavourable")
    return _count_answers(frame, attributes, answers)


def count_scored(frame: DataFrame, *, attributes: Sequence[str], score: str) -> Selection:
    """Counts people; those above the median of all, of unknown categories too, are selected. A tie is not
    above.
    """
    scores = convert_numbers(require_column(frame, score, "score"), "score")
    are_assessed = ~np.isnan(scores)
    if not are_assessed.any():
        raise InvalidInput("score", f"{score!r} has no number")
    median = float(np.median(scores[are_assessed]))
    return _count_answers(
        frame, attributes, PersonAnswers(are_assessed, scores > median, "scores", ~are_assessed, median)
    )


@frozen_arrays
class PersonAnswers:
    """Answers of a tool about people: which were assessed [records], and which selected.

    `kind` is a key of ANSWERS in `left_out`; `median` is of all assessed scores.
    """

    are_assessed: Marks
    are_selected: Marks
    kind: str
    are_missing: Marks
    median: float | None = None

    @property
    def outcomes(self) -> IntArray:
        return np.select([~self.are_assessed, self.are_selected], [UNCLASSIFIED, FAVOURABLE], UNFAVOURABLE)


def _count_answers(frame: DataFrame, attributes: Sequence[str], answers: PersonAnswers) -> Selection:
    columns = [
        encode_categories(frame, name) for name in (read_attribute_names(attributes) if attributes else ())
    ]
    combinations = [columns] if len(columns) > 1 else []
    counted = [
        _tabulate_categories(combination, answers)
        for combination in ([[column] for column in columns] + combinations)
    ]
    tables = tuple(table for table, _ in counted)
    records = tuple(count for _, count in counted) or (
        _count_people("", (), np.full(len(frame), NEITHER), answers, None),
    )
    return Selection(
        tables, records, answers, int(answers.are_assessed.sum()), tables[-1].unknown if tables else 0
    )


def encode_categories(frame: DataFrame, name: str) -> Encoded:
    """An empty text is an unknown category."""
    column = require_column(frame, name, "attribute")
    encoded = encode(
        column.mask(column.map(lambda value: isinstance(value, str) and not value.strip()).astype(bool)),
        "attribute",
    )
    if len(encoded.texts) > MAX_CATEGORIES:
        raise InvalidInput(
            "attribute",
            f"{name!r} holds {len(encoded.texts):,} different values where at most {MAX_CATEGORIES} "
            "categories are expected",
        )
    return encoded


def _tabulate_categories(
    columns: Sequence[Encoded], answers: PersonAnswers
) -> tuple[CategoryTable, CountedRecords]:
    comparison = Comparison(tuple(column.name for column in columns))
    shape = [len(column.texts) for column in columns]
    cell = cross_codes([column.codes for column in columns], shape)
    is_known = cell != NEITHER
    cells, cell_of = np.unique(cell[is_known], return_inverse=True)
    cell_codes = zip(*(axis.tolist() for axis in np.unravel_index(cells, shape)), strict=True)
    names = [
        tuple(column.texts[code] for column, code in zip(columns, codes, strict=True)) for codes in cell_codes
    ]
    order = sorted(range(len(names)), key=names.__getitem__)
    codes = np.full(is_known.size, NEITHER)
    codes[is_known] = np.argsort(order)[cell_of]
    groups = [ComparedGroup(TOGETHER.join(names[no]), "monitored") for no in order]
    records = _count_people(comparison.label, groups, codes, answers, ~is_known)
    counts = zip(order, records.counts.sum(1).tolist(), records.counts[:, FAVOURABLE].tolist(), strict=False)
    categories = tuple(Category(names[no], people, selected) for no, people, selected in counts if people)
    return CategoryTable(comparison, categories, int((answers.are_assessed & ~is_known).sum())), records


def _count_people(
    attribute: str,
    groups: Sequence[ComparedGroup],
    codes: IntArray,
    answers: PersonAnswers,
    lacks_value: Marks | None,
) -> CountedRecords:
    return count_records(
        attribute,
        groups,
        codes,
        answers.outcomes,
        answers=answers.kind,
        lacks_answer=answers.are_missing,
        lacks_value=lacks_value,
    )


@frozen
class SelectionReport:
    """Sheets of a preset, and their counts. `score` is the column whose median decides.

    `references` are the categories that the lending and controls sheets compare with; the caller `chosen`
    those of some attributes.
    """

    name: ReportPreset
    attributes: tuple[str, ...]
    score: str | None
    selection: Selection
    audit: AuditSheet | None
    references: References = field(default_factory=dict)
    chosen: tuple[str, ...] = ()
    people_sheets: Mapping[SheetName, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def preset(self) -> Preset:
        return PRESETS[self.name]

    def to_json(self) -> dict[str, Any]:
        return {
            "preset": self.name.value,
            "source": self.preset.source,
            "assessed": self.selection.assessed,
            "records": self.records[0].to_json(),
            "records_by_attribute": {counts.attribute: counts.to_json() for counts in self.records},
            "median_score": self.selection.answers.median,
            "references": {name: list(labels) for name, labels in self.references.items()},
            "sheets": {name.value: sheet for name, sheet in self.sheets_json().items()},
            "not_in_file": list(self.preset.not_in_file),
            "notice": NOTICE,
        }

    @property
    def records(self) -> list[CountedRecords]:
        listed = [] if self.selection.tables else list(self.selection.records)
        for table, counted in zip(self.selection.tables, self.selection.records, strict=False):
            best = find_highest_rate(list_large(table))
            names = self.references.get(counted.attribute, (best.label,) if best else ())
            groups = [
                ComparedGroup(group.label, "reference" if group.label in names else "monitored")
                for group in counted.groups
            ]
            listed.append(replace(counted, groups=tuple(groups)))
        return listed

    def sheets_json(self) -> Sheets:
        sheets: Sheets = dict(self.people_sheets)
        if self.audit is not None:
            sheets[SheetName.LL144] = self.audit.to_json()
        impact: dict[str, Any] = {"tables": []}
        if SheetName.ADVERSE_IMPACT in self.preset.sheets and self.attributes:
            sheets[SheetName.ADVERSE_IMPACT] = impact = describe_impact(
                self.selection.tables, self.selection.unknown
            )
        for table, sheet_table in zip(self.selection.tables, impact["tables"], strict=False):
            # Of attributes together none is chosen: their label is no attribute.
            names = self.references[table.comparison.label] if table.comparison.label in self.chosen else ()
            members = [category for category in table.categories if category.label in names]
            people = sum(member.applicants for member in members)
            selected = sum(member.selected for member in members)
            compare_with_reference(
                sheet_table, table, Category((", ".join(names),), people, selected) if members else None
            )
        return {
            name: sheets[name] for name in dict.fromkeys((*self.preset.sheets, *sheets)) if name in sheets
        }


def report_selections(
    frame: DataFrame,
    *,
    preset: str,
    attribute: str | Sequence[str] = (),
    prediction: str | None = None,
    score: str | None = None,
    favourable: object = 1,
    unfavourable: object = None,
    least_share: float = MIN_SHARE_OF_PEOPLE,
    categories: Sequence[CategoryMapping] = (),
    reference: References | None = None,
    control: Sequence[str] = (),
) -> SelectionReport:
    """Reports which people a tool selected, by the rule of a preset: `ll144`, `ugesp`, `lending`, `eu-ai-act`
    or `insurance-co`.

    A tool that selects has a `prediction`, of which values are `favourable`; a tool that scores has a
    `score`, and everybody with more than the median counts as selected. With both, `lending` and
    `insurance-co` take decisions of the one and gaps of the other. `reference` names the categories of an
    attribute that others are compared with, by default the one with the highest rate among those with at
    least 2 % of the people; `control` columns that decisions may depend on.

    Categories with less than `least_share` (0 to below 1) of the assessed people are left out of the impact
    ratios of `ll144`. An empty value of an attribute is an unknown category. `categories` map values of
    attributes to the categories of a scheme, or name columns of weights, which make a sheet of their own: of
    bounds, by the probability of each category. With weights, `attribute` may be left out.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    if preset not in list(ReportPreset):
        raise InvalidInput("preset", f"must be one of {', '.join(ReportPreset)}, found {preset!r:.100}")
    rule = PRESETS[ReportPreset(preset)]
    if not 0 <= least_share < 1:
        raise InvalidInput("least_share", f"must be a share from 0 to below 1, found {least_share!r:.100}")
    attributes = (attribute,) if isinstance(attribute, str) else tuple(attribute)
    has_lending = SheetName.LENDING in rule.sheets
    if (prediction is None and score is None) or (
        prediction is not None and score is not None and not has_lending
    ):
        raise InvalidInput(
            "prediction",
            "must be given for a tool that selects, or `score` for a tool that scores; one of the two",
        )
    chosen = dict(reference or {})
    categories = [
        _name_reference(mapping, chosen.pop(mapping.attribute, ())) if mapping.weights else mapping
        for mapping in categories
    ]
    for name in chosen:
        if name not in attributes:
            raise InvalidInput(
                "reference", f"{name!r} is not one of the attributes, which are {', '.join(attributes)}"
            )
    for name in control:
        if name in attributes:
            raise InvalidInput(
                "control", f"{name!r} is an attribute of the report and cannot be its own control"
            )
    if control and not attributes:
        raise InvalidInput("control", "needs an attribute, whose categories are compared given the control")
    require_mappings(categories)
    weighted = [mapping for mapping in categories if mapping.weights]
    if not attributes and not weighted:
        raise InvalidInput("attribute", "must name a column of categories")
    frame = map_values(frame, attributes, categories)
    if prediction is None:
        selection = count_scored(frame, attributes=attributes, score=str(score))
    else:
        selection = count_selected(
            frame,
            attributes=attributes,
            prediction=prediction,
            favourable=favourable,
            unfavourable=unfavourable,
        )
    chosen = {
        name: [encode_categories(frame, name).spell(label) for label in labels]
        for name, labels in chosen.items()
    }
    references = choose_references(selection.tables, chosen)
    sheets = Sheets()
    if attributes and (control or has_lending):
        people = read_people(frame, references, control, answers=selection.answers, score=score)
        sheets = {SheetName.LENDING: build_lending_sheet(people)} if has_lending else {}
        sheets[SheetName.CONTROLS] = build_controls_sheet(people)
    if weighted or SheetName.PROBABILISTIC in rule.sheets:
        tables = [_bound_categories(frame, mapping, selection.answers) for mapping in weighted]
        sheets[SheetName.PROBABILISTIC] = build_bounds_sheet(tables)
    audit = None
    if attributes and SheetName.LL144 in rule.sheets:
        audit = audit_tables(
            selection.tables, assessed=selection.assessed, unknown=selection.unknown, least_share=least_share
        )
    return SelectionReport(
        ReportPreset(preset),
        attributes,
        score if prediction is None else None,
        selection,
        audit,
        references,
        tuple(chosen),
        sheets,
    )


def _name_reference(mapping: CategoryMapping, names: Sequence[str]) -> CategoryMapping:
    if len(names) > 1:
        raise InvalidInput(
            "reference", f"must be one category of {mapping.attribute!r}, found {', '.join(names)}"
        )
    return replace(mapping, reference=names[0]) if names else mapping


def map_values(frame: DataFrame, attributes: Sequence[str], mappings: Sequence[CategoryMapping]) -> DataFrame:
    """Replaces mapped values by their categories; others in these columns become missing.

    Raises InvalidInput: a mapping is of no attribute, or none of its values is in the column.
    """
    for mapping in mappings:
        if mapping.weights:
            continue
        if mapping.attribute not in attributes:
            raise InvalidInput(
                "categories",
                f"{mapping.attribute!r} is not one of the attributes, which are {', '.join(attributes)}",
            )
        category_of_value = mapping.values  # noqa: PD011 - a mapping's own member
        categories = {canonical(value).strip(): category for value, category in category_of_value.items()}
        column = require_column(frame, mapping.attribute, "attribute")
        mapped = column.map(
            lambda value, lookup=categories: lookup.get(canonical(value).strip()), na_action="ignore"
        )
        if not mapped.notna().any():
            raise InvalidInput(
                "categories", f"none of the values that are mapped occurs in {mapping.attribute!r}"
            )
        frame = frame.assign(**{mapping.attribute: mapped.astype(object)})
    return frame


def _bound_categories(frame: DataFrame, mapping: CategoryMapping, answers: PersonAnswers) -> dict[str, Any]:
    weights = np.array(
        [convert_numbers(require_column(frame, name, "categories"), "categories") for name in mapping.weights]
    )
    assessed = answers.are_assessed
    records = np.ones(int(assessed.sum()), int)
    return bound_categories(mapping, weights[:, assessed], records, answers.are_selected[assessed])


NO_SCORES = "no column of scores was named"


def choose_references(tables: Sequence[CategoryTable], chosen: References) -> dict[str, tuple[str, ...]]:
    """Reference categories of each attribute: the chosen ones, else those of four-fifths ratios.

    Raises InvalidInput: a chosen one does not occur.
    """
    references = {}
    for table in tables:
        if table.comparison.is_combination:
            continue
        (name,) = table.comparison.features
        labels = [category.label for category in table.categories]
        for label in chosen.get(name, ()):
            if label not in labels:
                raise InvalidInput(
                    "reference", f"{label!r} is not a category of {name!r}, which has {', '.join(labels)}"
                )
        best = find_highest_rate(list_large(table)) or find_highest_rate(table.categories)
        references[name] = tuple(chosen.get(name, ())) or ((best.label,) if best else ())
    return references


def read_people(
    frame: DataFrame,
    references: References,
    controls: Sequence[str],
    *,
    answers: PersonAnswers,
    score: str | None,
) -> CountedPeople:
    attributes = []
    for name, reference in references.items():
        encoded = encode_categories(frame, name)
        order = sorted(range(len(encoded.texts)), key=encoded.texts.__getitem__)
        labels = tuple(encoded.texts[code] for code in order)
        positions = np.array([*np.argsort(order).tolist(), MISSING], int)
        roles = tuple("reference" if label in reference else None for label in labels)
        # MISSING is -1, and so the position at the end.
        attributes.append(AttributeCategories(name, labels, roles, positions[encoded.codes], labels))
    scores = None if score is None else convert_numbers(require_column(frame, score, "score"), "score")
    records = np.ones(len(frame), int)
    columns = []
    for name in controls:
        column = require_column(frame, name, "control")
        if is_numeric_column(column) and has_many_numbers(numbers := convert_numbers(column, "control")):
            columns.append(divide_numbers(name, numbers, records))
        else:
            encoded = encode(column, "control")
            columns.append(Control(name, encoded.texts, encoded.codes.astype(int)))
    return CountedPeople(
        records,
        answers.outcomes,
        tuple(attributes),
        tuple(columns),
        scores,
        NO_SCORES if scores is None else "",
    )
