"""A format of the deployment's own: JSON with places given as JSONPath."""

from collections.abc import Iterator

from ..base.errors import FieldProblem, InvalidInput, ScoringFailed
from ..base.strict_json import JsonObject
from ..base.values import character_problem, printable
from ..domain.deployment import BodyMapping, Endpoint, OutputFields
from .codec import Codec
from .json_paths import JsonPath, PathUnclear, PlacedValue, build_document, build_member_path, parse_path
from .listed_answers import read_listed_answer
from .read_predictions import Answer
from .wire import Names, Rows, Table, decode_answer, decode_request

_MAPPING = "endpoint.mapping"


class MappedCodec(Codec):
    """Writes and reads JSON of any form by the mapping of the endpoint."""

    label = "mapped: JSON of any form, by JSONPath"
    shown_request = "as endpoint.mapping says"

    def __init__(self, mapping: BodyMapping | None = None) -> None:
        mapping = mapping or BodyMapping()
        self._records = parse_path(mapping.records)
        self._answers = parse_path(mapping.answers)
        self._columns = {name: parse_path(path) for name, path in mapping.columns.items()}
        self._outputs = {name: parse_path(path) for name, path in mapping.outputs.items()}
        self._constants = [PlacedValue(parse_path(path), value) for path, value in mapping.constants.items()]

    def bind(self, endpoint: Endpoint) -> Codec:
        return self if endpoint.mapping is None else MappedCodec(endpoint.mapping)

    def find_mapping_problems(self, endpoint: Endpoint, columns: Names) -> list[FieldProblem]:
        mapping = endpoint.mapping
        if mapping is None:
            return [
                FieldProblem(_MAPPING, "is required for this format: it says where records and answers are")
            ]
        problems = list(_find_path_problems(mapping, columns))
        if problems:
            return problems
        codec = MappedCodec(mapping)
        if not codec._records.is_of_many and endpoint.page_size != 1:
            problems.append(
                FieldProblem(
                    "endpoint.page_size",
                    "must be 1: mapping.records has no [*], so a request holds one record",
                )
            )
        try:
            codec._build_body(columns, [[1] * len(columns)])
        except PathUnclear as error:
            problems.append(FieldProblem(_MAPPING, f"cannot be written: a column or constant {error}"))
        for member, path in (
            ("answers", codec._answers),
            *((f"outputs.{name}", path) for name, path in codec._outputs.items()),
        ):
            try:
                build_document([PlacedValue(path, 1)])
            except PathUnclear as error:
                problems.append(FieldProblem(f"{_MAPPING}.{member}", str(error)))
        return problems

    def build_request(self, columns: Names, rows: Rows) -> object:
        if not self._records.is_of_many and len(rows) != 1:
            raise ScoringFailed(
                "The mapping's records have no [*], so a request holds one record; set the endpoint's "
                "page_size to 1."
            )
        return self._build_body(columns, rows)

    def read_request(self, body: bytes, columns: Names) -> Table:
        rows = []
        try:
            records = self._records.find(decode_request(body))
        except PathUnclear as error:
            raise InvalidInput("body", f"the path of the records {error}") from error
        for position, record in enumerate(records if self._records.is_of_many else [records]):
            try:
                rows.append([self._get_path(name).find(record) for name in columns])
            except PathUnclear as error:
                raise InvalidInput(f"body[{position}]", f"a column's path {error}") from error
        return Table("body", "body", list(columns), rows)

    def build_answer(self, columns: Names, rows: Rows) -> object:
        if not self._answers.is_of_many and len(rows) != 1:
            raise ScoringFailed(
                "The mapping's answers have no [*], so an answer holds one record; ask about one record at "
                "once."
            )
        paths = [self._outputs.get(name) or build_member_path(name) for name in columns]
        try:
            answers = [build_document(map(PlacedValue, paths, row)) for row in rows]
            return build_document(
                [PlacedValue(self._answers, answers if self._answers.is_of_many else answers[0])]
            )
        except PathUnclear as error:
            raise ScoringFailed(
                f"An answer with the columns {', '.join(columns)} cannot be written by endpoint.mapping: one "
                f"of them {error}. Ask for another payload_format."
            ) from error

    def read_answer(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> Answer:
        try:
            answers = self._answers.find(decode_answer(body, object, expected="JSON"))
        except PathUnclear as error:
            raise ScoringFailed(
                f"The model's endpoint gave an answer in which the path of the answers {error}."
            ) from error
        elements = answers if self._answers.is_of_many else [answers]
        paths = {name: self._outputs.get(name) or build_member_path(name) for name in outputs.names}
        rows: list[JsonObject] = []
        for row, element in enumerate(elements, start=1):
            rows.append({})
            for name, path in paths.items():
                try:
                    rows[-1][name] = path.find(element)
                except PathUnclear as error:
                    raise ScoringFailed(
                        f"The model's endpoint gave an answer in which the path of the output '{name}' "
                        f"{error} (row {row})."
                    ) from error
        return read_listed_answer(rows, outputs, expected_rows)

    def _get_path(self, column: str) -> JsonPath:
        return self._columns.get(column) or build_member_path(column)

    def _build_body(self, columns: Names, rows: Rows) -> object:
        paths = [self._get_path(name) for name in columns]
        records = [build_document(map(PlacedValue, paths, row)) for row in rows]
        return build_document(
            [
                PlacedValue(self._records, records if self._records.is_of_many else records[0]),
                *self._constants,
            ]
        )


def _find_path_problems(mapping: BodyMapping, columns: Names) -> Iterator[FieldProblem]:
    paths = {
        "records": mapping.records,
        "answers": mapping.answers,
        **{f"columns.{name}": path for name, path in mapping.columns.items()},
        **{f"outputs.{name}": path for name, path in mapping.outputs.items()},
        **{f"constants.{path}": path for path in mapping.constants},
    }
    for path, value in mapping.constants.items():
        if isinstance(value, str) and (problem := character_problem(value)) is not None:
            yield FieldProblem(f"{_MAPPING}.constants.{printable(path)}", problem)
    for member, path in paths.items():
        if (problem := character_problem(member) or character_problem(path)) is not None:
            yield FieldProblem(f"{_MAPPING}.{printable(member)}", problem)
            continue
        try:
            parsed = parse_path(path)
        except PathUnclear as error:
            yield FieldProblem(f"{_MAPPING}.{member}", str(error))
            continue
        if parsed.is_of_many and "." in member:
            yield FieldProblem(
                f"{_MAPPING}.{member}", "must lead to one place: [*] is for the records and the answers"
            )
    yield from (
        FieldProblem(f"{_MAPPING}.columns.{name}", "is not a feature")
        for name in mapping.columns
        if name not in columns
    )
