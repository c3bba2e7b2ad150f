"""The commands, as a person types them, against a service."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner, Result

from app.base.errors import InvalidInput
from app.cli import evenhand, import_service
from app.cli.imports import list_files
from tests.builders.page_words import says
from tests.builders.queries import rows
from tests.builders.vendor_files import BENTO_SCHEMA, bento_line, capture_line, json_lines, truth_line
from tests.builders.workers import working
from tests.service import RunningService

Run = Callable[..., Result]

CONFIG = {
    "dataset_type": "text/csv",
    "headers": ["Age", "Sex", "Owner", "Risk"],
    "label": "Risk",
    "label_values_or_threshold": ["No Risk"],
    "facet": [{"name_or_index": "Sex", "value_or_threshold": ["female"]}],
    "methods": {"post_training_bias": {"methods": ["DPPL", "DI", "DAR"]}},
}


@pytest.fixture
def run(service: RunningService, tmp_path: Path) -> Run:
    """Runs `evenhand import` with the address and the key of the service in its environment."""

    def run(*arguments: object, deployment: str = "credit-risk", key: str = service.admin_key) -> Result:
        environment = {"EVENHAND_URL": service.base_url, "EVENHAND_KEY": key, "EVENHAND_DEPLOYMENT": deployment, "TERM": "dumb"}
        state = [] if arguments[0] == "corrections" else ["--state", str(tmp_path / "state")]
        return CliRunner().invoke(evenhand, ["import", *map(str, arguments), *state], env=environment)

    return run


def write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def test_a_file_is_imported_and_the_report_names_line_field_and_reason(run: Run, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    rejected = tmp_path / "rejected.jsonl"
    file = write(tmp_path / "log.csv", "Age,Sex,Owner,prediction\n33,female,true,Risk\nyoung,female,true,Risk\n")

    ended = run("payload", file, "--at", "2026-03-01T09:30:00Z", "--rejections", rejected)

    assert ended.exit_code == 3, ended.output
    # The service runs in this process, and logs to the same output.
    report = [line for line in ended.output.splitlines() if "[info" not in line]
    assert says(report[0], "2 rows", "1 stored", "0 stored before", "1 rejected")
    assert says(report[1], "1", "features.Age")
    assert says(report[2], f"{file} line 3", "features.Age", "'young'")
    assert report == snapshot
    assert json.loads(rejected.read_text()) == {
        "file": str(file),
        "line": 3,
        "field": "features.Age",
        "reason": "must be a whole number, found 'young'",
    }


def test_an_import_of_which_every_row_is_rejected_fails_after_its_report(run: Run, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    file = write(tmp_path / "log.csv", "Age,Sex,Owner,prediction\nyoung,female,true,Risk\n")

    ended = run("payload", file, "--at", "2026-03-01T09:30:00Z")

    assert ended.exit_code == 1
    assert says(ended.output, "1 rows", "0 stored", "0 stored before", "1 rejected")
    assert str(ended.exception) == snapshot


def test_a_probability_that_rounding_moved_out_of_its_range_is_counted(run: Run, tmp_path: Path) -> None:
    rows = ["33,female,true,Risk,1.0000001192", "34,male,true,Risk,-1e-9", "35,male,true,Risk,0.5", "36,male,true,Risk,1.01"]
    file = write(tmp_path / "log.csv", "\n".join(["Age,Sex,Owner,prediction,probability", *rows]) + "\n")

    ended = run("payload", file, "--at", "2026-03-01T09:30:00Z")

    assert says(ended.output, "4 rows", "3 stored", "1 rejected")
    assert says(ended.output, "Of 2", "a hair outside [0, 1]")


def test_labels_are_imported_by_their_ids(run: Run, service: RunningService, tmp_path: Path) -> None:
    file = write(tmp_path / "labels.csv", "case,outcome,known\na,Risk,2026-03-01 09:30:00\n")

    ended = run(*("feedback", file, "--id-column", "case", "--label-column", "outcome", "--time-column", "known", "--utc-offset", "+01:00"))

    assert ended.exit_code == 0, ended.output
    found = "SELECT feedback_id, label, (logged_at AT TIME ZONE 'UTC')::text FROM feedback_records"
    assert rows(service.database, found) == [("a", "Risk", "2026-03-01 08:30:00")]


def test_a_file_with_times_of_a_stated_form_is_imported_once_in_its_encoding(run: Run, service: RunningService, tmp_path: Path) -> None:
    records, labels = tmp_path / "log.csv", tmp_path / "labels.csv"
    records.write_bytes("id,Zeit,Age,Sex,Owner,prediction\nä,01.03.2026_09:30,33,female,true,Risk\n".encode("latin-1"))
    labels.write_bytes("id,Zeit,label\nä,02.03.2026_10:00,Risk\n".encode("latin-1"))
    options = ("--time-column", "Zeit", "--time-format", "%d.%m.%Y_%H:%M", "--utc-offset", "+00:00", "--encoding", "latin-1")

    ended = [run("payload", records, *options), run("feedback", labels, *options)]

    assert [command.exit_code for command in ended] == [0, 0], [command.output for command in ended]
    assert [command.output.count("1 rows: 1 stored") for command in ended] == [1, 1]
    assert [command.output.count(" rows: ") for command in ended] == [1, 1]
    found = "SELECT feedback_id, label, (logged_at AT TIME ZONE 'UTC')::text FROM feedback_records"
    assert rows(service.database, found) == [("ä", "Risk", "2026-03-02 10:00:00")]


def test_bentoml_logs_register_their_deployment(run: Run, service: RunningService, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    schema = write(tmp_path / "schema" / "schema.1.log", json_lines([BENTO_SCHEMA]))
    data = write(tmp_path / "data" / "data.1.log", json_lines([bento_line("female", 25, "refused", "7")]))

    refused = run("payload", schema, data, deployment="bento")
    first = run("payload", schema, data, "--register", deployment="bento")
    again = run("payload", schema, data, "--register", deployment="bento")

    assert says(str(refused.exception), "bento", "--register")
    assert str(refused.exception) == snapshot
    assert "Registered bento from" in first.output
    assert "1 rows: 1 stored" in first.output
    assert "1 rows: 0 stored, 1 stored before" in again.output
    found = service.client.get("/v1/deployments/bento").json()
    assert [(feature["name"], feature["type"]) for feature in found["features"]] == [("sex", "string"), ("age", "number")]
    assert (found["outputs"]["prediction"], found["model_revision"]) == ("pred", "v7")


@pytest.mark.nightly
def test_a_bias_monitor_of_sagemaker_is_taken_over_with_its_data(run: Run, service: RunningService, tmp_path: Path) -> None:
    service.client.post(
        "/v1/deployments",
        json={
            "id": "taken-over",
            "name": "Taken over",
            "problem_type": "binary",
            "features": [{"name": "Age", "type": "integer"}, {"name": "Sex", "type": "string"}, {"name": "Owner", "type": "boolean"}],
        },
    ).raise_for_status()
    config = write(tmp_path / "analysis_config.json", json.dumps(CONFIG))
    # Of 120 men half get the favourable outcome, of 120 women a tenth.
    lines = [
        capture_line(f'40,"{sex}",true', "No Risk" if no % every == 0 else "Risk", event=f"{sex}-{no}")
        for sex, every in (("male", 2), ("female", 10))
        for no in range(120)
    ]
    write(tmp_path / "captures" / "2026" / "03" / "01" / "09" / "a.jsonl", json_lines(lines))
    write(tmp_path / "truth" / "2026" / "03" / "01" / "10" / "a.jsonl", json_lines([truth_line("Risk", f"male-{no}") for no in range(50)]))
    arguments = ("sagemaker", "--config", config, "--captures", tmp_path / "captures", "--ground-truth", tmp_path / "truth")
    violations = tmp_path / "constraint_violations.json"

    with working(service.database):
        ended = run(*arguments, "--unfavourable", "Risk", "--violations", violations, deployment="taken-over")

    assert ended.exit_code == 0, (ended.output, ended.exception)
    assert "240 rows: 240 stored" in ended.output
    assert "50 rows: 50 stored" in ended.output
    monitor = service.client.get("/v1/deployments/taken-over/fairness-monitor").json()
    assert (monitor["favourable"], monitor["unfavourable"]) == (["No Risk"], ["Risk"])
    found = json.loads(violations.read_text())
    assert [(violation["facet"], violation["facet_value"], violation["metric_name"]) for violation in found["violations"]] == [
        ("Sex", "female", "DI"),
        ("Sex", "female", "DPPL"),
    ]
    assert found["violations"][0]["description"].startswith("Value 0.2")
    assert found["violations"][1]["description"].startswith("Value 0.4")


@pytest.mark.parametrize(
    ("configured", "options", "said", "approved"),
    [
        ({}, (), "1 from 0.5 on, else 0 (the default)", ["b", "c"]),
        ({"probability_threshold": 0.35}, (), "1 from 0.35 on, else 0 (probability_threshold)", ["a", "b", "c"]),
        ({"probability_threshold": 0.35}, ("--probability-threshold", "0.9"), "1 from 0.9 on, else 0 (probability_threshold)", ["c"]),
    ],
)
def test_an_endpoint_of_sagemaker_that_answers_scores_gives_classes(
    run: Run,
    service: RunningService,
    tmp_path: Path,
    configured: dict[str, float],
    options: tuple[str, ...],
    said: str,
    approved: list[str],
) -> None:
    mapping = {"records": "$.instances[*]", "columns": {"Age": "$.features[0]", "Sex": "$.features[1]"}}
    mapping |= {"answers": "$.predictions[*]", "outputs": {"prediction": "$.score"}}
    endpoint = {"url": "http://127.0.0.1:9/never-called", "payload_format": "mapped", "mapping": mapping}
    features = [{"name": "Age", "type": "integer"}, {"name": "Sex", "type": "string"}]
    body = {"id": "scored", "name": "Scored", "problem_type": "binary", "features": features, "endpoint": endpoint}
    service.client.post("/v1/deployments", json=body).raise_for_status()
    changed = {"headers": ["Age", "Sex", "Risk"], "label_values_or_threshold": [1]}
    config = write(tmp_path / "analysis_config.json", json.dumps(CONFIG | changed | configured))
    scores = {"a": 0.35, "b": 0.5, "c": 0.9375, "d": 0.25}
    lines = [capture_line("40,female", str(score), event=event) for event, score in scores.items() if event != "b"]
    asked, answered = {"instances": [{"features": [40, "female"]}]}, {"predictions": [{"score": scores["b"]}]}
    lines.append(capture_line(json.dumps(asked), json.dumps(answered), event="b", encoding="JSON"))
    write(tmp_path / "captures" / "a.jsonl", json_lines(lines))

    ended = run("sagemaker", "--config", config, "--captures", tmp_path / "captures", *options, deployment="scored")

    assert (ended.exit_code, said in ended.output) == (0, True), ended.output
    stored = service.client.get("/v1/deployments/scored/payload-records").json()["payload_records"]
    assert {record["id"]: record["probability"] for record in stored} == scores
    assert sorted(record["id"] for record in stored if record["prediction"] == 1) == approved
    assert sorted(record["id"] for record in stored if record["prediction"] == 0) == sorted(scores.keys() - set(approved))


def test_captures_are_read_in_their_encoding(tmp_path: Path) -> None:
    line = capture_line('40,"männlich",true', "Risk", event="e")
    folder = tmp_path / "captures" / "09"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text(json_lines([line]).encode().decode("unicode_escape"), encoding="latin-1")

    [file] = list_files("captures", [folder.parent], "latin-1")

    assert [text.decode().count("männlich") for _, text in file.lines()] == [1]
    for paths, encoding, message in (([folder.parent], "utf-8", "is not UTF-8"), ([tmp_path / "none"], "utf-8", "has no file that ends")):
        (tmp_path / "none").mkdir(exist_ok=True)
        with pytest.raises(InvalidInput, match=message):
            list_files("captures", paths, encoding)


def test_an_option_that_cannot_be_used_is_refused(run: Run, tmp_path: Path, subtests: pytest.Subtests) -> None:
    for arguments, message in (
        (("--at", "yesterday"), "must be a time such as 2026-03-01T09:00Z"),
        (("--utc-offset", "east"), "must be an offset such as"),
        (("--id-column", "nothing"), "has no column 'nothing'"),
    ):
        with subtests.test(arguments=arguments, message=message):
            file = write(tmp_path / "log.csv", "Age,Sex,Owner,prediction\n33,female,true,Risk\n")

            assert message in str(run("payload", file, *arguments).exception)


def test_a_service_that_refuses_or_does_not_answer_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_service, "PAUSE_SECONDS", ())
    file = write(tmp_path / "log.csv", "Age,Sex,Owner,prediction\n33,female,true,Risk\n")

    assert "There is no deployment nobody" in str(run("payload", file, deployment="nobody").exception)
    assert "was answered 401" in str(run("payload", file, key="wrong").exception)
    assert "does not answer" in str(run("payload", file, "--url", "http://127.0.0.1:9").exception)
    assert "must begin with http" in str(run("payload", file, "--url", "127.0.0.1").exception)


def test_corrections_are_made_from_a_file_and_say_what_was_refused(run: Run, service: RunningService, tmp_path: Path) -> None:
    records = [{"id": f"a-{no}", "features": {"Age": 33, "Sex": "female", "Owner": True}, "prediction": 0} for no in range(3)]
    service.client.post("/v1/deployments/credit-risk/payload-records", json={"records": records}).raise_for_status()
    header = "record_id,what,old,new,reason,correction_id\n"
    file = write(
        tmp_path / "c.csv", header + "a-0,prediction,0,1,mixed up,c-1\n\na-1,prediction,1,0,mixed up,\nb,prediction,,1,mixed up,\n"
    )

    ended = run("corrections", file)

    assert ended.exit_code == 3, ended.output
    assert [line for line in ended.output.splitlines() if "[info" not in line] == [
        "1 corrected, 0 corrected before, 2 rejected.",
        f"{file} row 3, record: record 'b' is not stored; a value that was never logged cannot be corrected",
        f"{file} row 2: old is 1, stored is 0: nothing was changed",
    ]
    assert service.client.get("/v1/deployments/credit-risk/payload-records/a-0").json()["prediction"] == 1
    assert run("corrections", write(tmp_path / "c.csv", header + "a-0,prediction,0,1,mixed up,c-1\n")).exit_code == 0
    assert run("corrections", write(tmp_path / "c.csv", header + "a-0,age,0,1,mixed up,\n")).exit_code == 1
