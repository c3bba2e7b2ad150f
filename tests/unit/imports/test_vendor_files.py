"""Files in each vendor's documented form, by somebody who had not read the readers, give the people that are in them.

`tests/vendor_files/README.md` names the documents.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.deployment import BodyMapping, Column, Endpoint, FieldKind, FieldType, OutputFields, RecordSchema
from app.domain.record_times import LogKind
from app.intake.imports.flat_tables import ImportLayout, find_layout
from app.intake.imports.input_file import ImportRow, ImportSubject, InputFile
from app.intake.imports.run_import import encode_record
from tests.builders.vendor_files import subject

FILES = Path(__file__).parents[2] / "vendor_files"

PEOPLE = [("female", 30000, "no"), ("female", 41000.5, "yes"), ("male", 52000, "yes"), ("male", 28000, "no"), ("female", 61000, "yes")]
SCORES = [0.12, 0.71, 0.93, 0.4, 0.5]

SUBJECT = subject(
    schema=RecordSchema(
        version=1,
        features=(
            Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
            Column(name="income", type=FieldType.NUMBER, kind=FieldKind.NUMERIC),
        ),
        meta=(),
    ),
    outputs=OutputFields(prediction="approved"),
)
LABEL_AND_SCORE = OutputFields(prediction="predicted_label", probability="score")


def read(*names: str, about: ImportSubject = SUBJECT) -> tuple[ImportLayout, list[ImportRow]]:
    files = [InputFile.at(FILES / name) for name in names]
    layout = find_layout(files, None, about.kind)
    return layout, list(layout.read(files, about))


def records(rows: list[ImportRow]) -> list[Any]:
    return [row.record for row in rows if row.record is not None]


def people(rows: list[ImportRow]) -> list[tuple[object, ...]]:
    return [(*record["features"].values(), record["prediction"]) for record in records(rows)]


def refusals(rows: list[ImportRow]) -> list[tuple[str, str]]:
    return [(row.field, row.reason) for row in rows if row.record is None]


@pytest.mark.parametrize(
    ("layout", "names", "ids"),
    [
        ("azure", ["azure/model_inputs.jsonl", "azure/model_outputs.jsonl"], ["corr-0-1", "corr-0-2", "corr-1", "corr-2-1", "corr-2-2"]),
        ("azure", ["azure/outputs.jsonl", "azure/inputs.jsonl"], ["corr-0-1", "corr-0-2", "corr-1", "corr-2-1", "corr-2-2"]),
        ("sagemaker", ["sagemaker/csv_labels.jsonl"], [f"feca1ab1-8025-47e3-8f6a-99e3fdd7b8d{no}" for no in range(5)]),
        ("sagemaker", ["sagemaker/base64.jsonl"], [f"feca1ab1-8025-47e3-8f6a-99e3fdd7b8d{no}" for no in range(5)]),
        (
            "sagemaker",
            ["sagemaker/csv_batch.jsonl"],
            [f"feca1ab1-8025-47e3-8f6a-99e3fdd7b8d{no}" for no in ("0-1", "0-2", "1", "2-1", "2-2")],
        ),
        (
            "kserve",
            ["kserve/one.json", "kserve/batch.json"],
            ["e58f1edd-0-1", "e58f1edd-0-2", "e58f1edd-1", "e58f1edd-2-1", "e58f1edd-2-2"],
        ),
        ("bentoml", ["bentoml/data.1.log"], [str(10655923893485958044 + no) for no in range(5)]),
    ],
)
def test_everybody_in_a_documented_file_is_read(layout: str, names: list[str], ids: list[str]) -> None:
    found, rows = read(*names)

    assert (found, refusals(rows)) == (layout, [])
    assert people(rows) == PEOPLE
    assert [record["id"] for record in records(rows)] == ids


@pytest.mark.parametrize("name", ["json_features", "json_data_values", "jsonlines", "json_columns"])
@pytest.mark.parametrize("mapped", [False, True])
def test_json_of_sagemaker_is_read_with_label_and_score(name: str, *, mapped: bool) -> None:
    mapping = BodyMapping(
        records="$.instances[*]",
        columns={"sex": "$.features[0]", "income": "$.features[1]"},
        answers="$.predictions[*]",
        outputs={"approved": "$.predicted_label", "chance": "$.score"},
    )
    about = replace(SUBJECT, outputs=LABEL_AND_SCORE)
    if mapped:
        endpoint = Endpoint(payload_format="mapped", mapping=mapping)
        about = replace(SUBJECT, outputs=OutputFields(prediction="approved", probability="chance"), endpoint=endpoint)

    _, rows = read(f"sagemaker/{name}.jsonl", about=about)

    if mapped and name != "json_features":
        # The mapping does not fit, and no other format has its outputs.
        assert len(refusals(rows)) == 3
        return
    assert refusals(rows) == []
    assert people(rows) == [(sex, income, int(answer == "yes")) for sex, income, answer in PEOPLE]
    assert [record["probability"] for record in records(rows)] == SCORES


@pytest.mark.parametrize(("threshold", "classes"), [(0.5, [0, 1, 1, 0, 1]), (0.35, [0, 1, 1, 1, 1]), (0.71, [0, 1, 1, 0, 0])])
@pytest.mark.parametrize(
    "outputs", [OutputFields(prediction="approved"), OutputFields(prediction="score", probability="score", classes=(0, 1))]
)
@pytest.mark.parametrize("mapped", [False, True])
def test_scores_become_classes_at_the_threshold(threshold: float, classes: list[int], outputs: OutputFields, *, mapped: bool) -> None:
    # A mapping that does not fit CSV leaves it to the other formats.
    endpoint = Endpoint(payload_format="mapped", mapping=BodyMapping(records="$.instances[*]")) if mapped else None
    about = replace(SUBJECT, outputs=outputs, score_threshold=threshold, endpoint=endpoint)

    _, rows = read("sagemaker/csv_scores.jsonl", about=about)
    stored = [json.loads(encode_record(row, "digest", about)) for row in rows]

    assert [(record["prediction"], record["probability"]) for record in stored] == list(zip(classes, SCORES, strict=True))


@pytest.mark.parametrize("prediction", [0, 1, 1.0, "0.4", "yes", True, None, 1.5, -0.5, float("nan")])
def test_an_answer_that_is_no_score_is_left_as_it_is(prediction: object) -> None:
    row = ImportRow(file="f", line=1, record={"id": "a", "prediction": prediction, "probability": 0.25})

    stored = encode_record(row, "digest", replace(SUBJECT, score_threshold=0.5))

    assert json.loads(stored.decode(), parse_constant=str) == json.loads(json.dumps(dict(row.record or {})), parse_constant=str)


def test_ground_truth_has_the_ids_of_the_captures() -> None:
    _, labels = read("sagemaker/ground_truth.jsonl", about=replace(SUBJECT, kind=LogKind.FEEDBACK))
    _, captures = read("sagemaker/csv_scores.jsonl")

    assert [record["label"] for record in records(labels)] == [0, 1, 1, 0, 1]
    assert [record["id"] for record in records(labels)] == [record["id"] for record in records(captures)]


@pytest.mark.parametrize(
    ("name", "ids", "refused"),
    [
        ("legacy", ["5f0a0-1", "5f0a0-2"], ("status_code", "must be 200, or the model gave no prediction, found '400'")),
        (
            "gateway",
            ["mine-1-1", "mine-1-2"],
            ("request", "was not logged ('['MAX_REQUEST_SIZE_EXCEEDED', 'MAX_RESPONSE_SIZE_EXCEEDED']')"),
        ),
    ],
)
def test_both_tables_of_databricks_are_read_in_every_form_of_mlflow(name: str, ids: list[str], refused: tuple[str, str]) -> None:
    layout, rows = read(f"databricks/{name}.jsonl")

    assert (layout, refusals(rows)) == ("databricks", [refused])
    assert people(rows) == PEOPLE
    assert [record["id"] for record in records(rows)] == [*ids, "5f0a1", "5f0a2", "5f0a3"]


@pytest.mark.parametrize(("name", "records_path"), [("request", "$.input_data.data[*]"), ("request_lists", "$.data[*]")])
def test_bodies_that_azure_logged_are_read_by_the_mapping_of_the_endpoint(name: str, records_path: str) -> None:
    mapping = BodyMapping(records=records_path, columns={"sex": "$[0]", "income": "$[1]"}, answers="$[*]", outputs={"approved": "$"})
    about = replace(SUBJECT, endpoint=Endpoint(payload_format="mapped", mapping=mapping))

    layout, rows = read(f"azure/{name}.jsonl", "azure/response.jsonl", about=about)
    _, without = read(f"azure/{name}.jsonl", "azure/response.jsonl")

    assert (layout, refusals(rows), people(rows)) == ("azure", [], PEOPLE)
    assert [field for field, _ in refusals(without)] == ["request"] * 3


def test_bodies_of_azure_in_a_format_of_ours_need_no_mapping(tmp_path: Path) -> None:
    for half, bodies in (
        ("request", [{"dataframe_records": [{"sex": sex, "income": income}]} for sex, income, _ in PEOPLE]),
        ("response", [{"predictions": [answer]} for *_, answer in PEOPLE]),
    ):
        line = json.loads((FILES / f"azure/{half}.jsonl").read_text().splitlines()[0])
        events = [line | {"data": body, "correlationid": str(no)} for no, body in enumerate(bodies)]
        (tmp_path / half).write_text("".join(json.dumps(event) + "\n" for event in events))

    _, rows = read(str(tmp_path / "request"), str(tmp_path / "response"))

    assert people(rows) == PEOPLE


def test_bodies_that_azure_stored_elsewhere_are_refused_by_name() -> None:
    assert refusals(read("azure/request_in_blob.jsonl")[1]) == [("data", "is missing, or is a pointer to data that was stored elsewhere")]


def test_another_kind_of_azures_lines_is_refused_with_what_it_is(tmp_path: Path) -> None:
    line = json.loads((FILES / "azure/model_inputs.jsonl").read_text().splitlines()[0])
    (tmp_path / "both.jsonl").write_text(json.dumps(line | {"type": "azureml.inference.model_inputs_outputs"}))

    _, rows = read(str(tmp_path / "both.jsonl"))

    assert refusals(rows) == [
        (
            "type",
            "must end in model_inputs, inputs, request, model_outputs, outputs, response, found 'azureml.inference.model_inputs_outputs'",
        )
    ]
