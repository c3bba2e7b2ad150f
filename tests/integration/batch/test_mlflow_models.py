"""Checks of tables that load an MLflow model: the figures of the same model over HTTP, and nothing asked twice whatever ends."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.calls.egress_policy import EgressPolicy
from app.calls.scoring import model_process
from app.database.engine import Database
from app.domain.deployment import Endpoint, EndpointSource
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.lakes import Lake, lake_of
from tests.models.mlflow_stub import put_mlflow_on_path, register_rule_model, rows_asked, rule_model, save_rule_model
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, Result, scene

MONITOR = monitor_of(SEX, AGE, max_records=60)
PEOPLE = applicants(20, 20, 7)


def figures(result: Result) -> dict[tuple[object, ...], Any]:
    return {
        (figure.metric, figure.data, figure.scope, figure.comparison, figure.group): (
            figure.value,
            figure.lower,
            figure.upper,
            figure.n,
            figure.reason,
        )
        for figure in result.measurements
    }


def loaded(model: Path, **more: Any) -> Endpoint:  # noqa: ANN401 - fields of an endpoint
    values = {"page_size": 10, "concurrency": 1, "payload_format": "mlflow", **more}
    return Endpoint(source=EndpointSource.MLFLOW, uri=str(model), **values)


def lake_with(database: Database, folder: Path, endpoint: Endpoint, name: str) -> Lake:
    """A deployment with people in files, whose checks may load models of the folder `models`."""
    stage = scene(database, APPLICANT, MONITOR, endpoint=endpoint, deployment_id=name)
    lake = lake_of(stage, folder / name, deployment_id=f"{name}-in-files")
    lake.stage.policy = EgressPolicy(model_prefixes=(str(folder / "models"),))
    lake.write(PEOPLE, NOON + HOUR / 4)
    return lake


def registered_in(database: Database, folder: Path, uri: str, name: str) -> Lake:
    """The same with a registered model."""
    endpoint = Endpoint(source=EndpointSource.MLFLOW, uri=uri, payload_format="mlflow", page_size=10, concurrency=1, timeout_seconds=300)
    lake = lake_with(database, folder, endpoint, name)
    lake.stage.policy = EgressPolicy(model_prefixes=("models:/credit",))
    return lake


def check_over_http(database: Database, folder: Path) -> tuple[dict[tuple[object, ...], Any], int]:
    """Returns the figures with the same model behind HTTP, and how many rows it was asked about."""
    with serve(RuleScorer()) as server:
        lake = lake_with(database, folder, Endpoint(url=server.mlflow_url, payload_format="mlflow", page_size=10), "over-http")
        return figures(lake.check(NOON)), server.counts.rows


@pytest.mark.nightly
def test_a_loaded_model_gives_the_figures_of_the_same_model_over_http_and_is_asked_once(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_mlflow_on_path(tmp_path, monkeypatch)
    model = rule_model(tmp_path / "models" / "rule")
    expected, asked = check_over_http(database, tmp_path)
    lake = lake_with(database, tmp_path, loaded(model, concurrency=2), "loaded")

    assert figures(lake.check(NOON)) == expected
    assert sum(rows_asked(model)) == asked > 0
    assert figures(lake.check(NOON)) == expected
    assert sum(rows_asked(model)) == asked


@pytest.mark.nightly
def test_a_process_that_ends_is_replaced_once_and_then_the_check_fails_and_keeps_its_answers(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_mlflow_on_path(tmp_path, monkeypatch)
    model = rule_model(tmp_path / "models" / "rule")
    expected, asked = check_over_http(database, tmp_path)
    lake = lake_with(database, tmp_path, loaded(model), "loaded")

    (model / "crashes").write_text("2")
    without = lake.check(NOON)
    assert "ended with exit status 3, and again after a restart" in (without.run.reason or "")
    assert {figure.value for figure in without.measurements if figure.data == "counterfactual"} == {None}
    kept = rows_asked(model)
    assert len(kept) == 1
    lake.stage.stop_running()
    (model / "crashes").write_text("1")

    assert figures(lake.check(NOON)) == expected
    assert (model / "crashes").read_text() == "0"
    assert sum(rows_asked(model)) == asked + 1  # one of two unchanged answers was stored, and counts only with the other


@pytest.mark.thorough
def test_a_model_that_cannot_be_loaded_says_what_to_install(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_mlflow_on_path(tmp_path, monkeypatch, is_installed=False)
    lake = lake_with(database, tmp_path, loaded(rule_model(tmp_path / "models" / "rule")), "loaded")

    assert re.search(r'cannot be loaded: MLflow is not installed.*pip install "evenhand\[mlflow\]"', lake.check(NOON).run.reason or "")


@pytest.mark.nightly
def test_a_model_whose_code_raises_while_it_is_loaded_is_named_with_the_error(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_mlflow_on_path(tmp_path, monkeypatch)
    (tmp_path / "models" / "empty").mkdir(parents=True)
    lake = lake_with(database, tmp_path, loaded(tmp_path / "models" / "empty"), "loaded")

    assert re.search("cannot be loaded: FileNotFoundError: there is no MLmodel", lake.check(NOON).run.reason or "")


def test_a_link_out_of_the_allowed_folders_is_refused_when_the_model_is_loaded(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_mlflow_on_path(tmp_path, monkeypatch)
    model = rule_model(tmp_path / "models" / "rule")
    (model / "code").symlink_to(tmp_path / "stub")
    lake = lake_with(database, tmp_path, loaded(model), "loaded")

    assert re.search("holds the link code, which leads out", lake.check(NOON).run.reason or "")
    assert rows_asked(model) == []


def test_an_error_with_characters_that_cannot_be_stored_is_the_reason_of_the_check(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_mlflow_on_path(tmp_path, monkeypatch)
    code = "def load_model(folder):\n    raise RuntimeError('a\\0b\\x1b[31m')\n"
    (tmp_path / "stub" / "mlflow" / "pyfunc.py").write_text(code)
    lake = lake_with(database, tmp_path, loaded(rule_model(tmp_path / "models" / "rule")), "loaded")

    assert "RuntimeError: a\\x00b\\x1b[31m" in (lake.check(NOON).run.reason or "")


@pytest.mark.thorough
def test_a_model_that_is_loaded_without_end_is_ended_with_the_time_of_a_page(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_mlflow_on_path(tmp_path, monkeypatch)
    (tmp_path / "stub" / "mlflow" / "pyfunc.py").write_text("import time\n\ndef load_model(folder):\n    time.sleep(1e6)\n")
    lake = lake_with(database, tmp_path, loaded(rule_model(tmp_path / "models" / "rule"), timeout_seconds=0.3), "loaded")

    assert "did not answer within 0.3 seconds" in (lake.check(NOON).run.reason or "")


def test_the_model_gets_none_of_the_secrets_of_the_worker(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_mlflow_on_path(tmp_path, monkeypatch)
    for name in ("EVENHAND_SECRET_KEY", "DATABASE_URL", "PGPASSWORD"):
        monkeypatch.setenv(name, "s3cret")
    model = rule_model(tmp_path / "models" / "rule")
    found = "[name for name, value in os.environ.items() if value == 's3cret']"
    code = f"import os\n\ndef load_model(folder):\n    raise RuntimeError({found})\n"
    (tmp_path / "stub" / "mlflow" / "pyfunc.py").write_text(code)
    lake = lake_with(database, tmp_path, loaded(model), "loaded")

    assert re.search(r"cannot be loaded: RuntimeError: \[\]\.", lake.check(NOON).run.reason or "")


def test_an_error_of_the_registry_is_told_and_logged_without_its_password(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    put_mlflow_on_path(tmp_path, monkeypatch)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://mlflow:s3cret@db.example/mlflow")
    code = "import os\n\ndef load_model(folder):\n    raise RuntimeError('no answer from ' + os.environ['MLFLOW_TRACKING_URI'])\n"
    (tmp_path / "stub" / "mlflow" / "pyfunc.py").write_text(code)
    lake = lake_with(database, tmp_path, loaded(rule_model(tmp_path / "models" / "rule")), "loaded")

    reason = lake.check(NOON).run.reason or ""
    assert "RuntimeError: no answer from postgresql://[redacted]@db.example/mlflow." in reason
    assert "s3cret" not in reason + "".join(capfd.readouterr())


@pytest.mark.nightly
def test_an_answer_that_is_too_long_fails_the_check_and_is_not_read_to_its_end(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_mlflow_on_path(tmp_path, monkeypatch)
    endless = (
        "class Model:\n    def __init__(self, folder): pass\n"
        "    def predict(self, frame): return ['x' * (33 * 2**20)] * len(frame)\n\nload_model = Model\n"
    )
    (tmp_path / "stub" / "mlflow" / "pyfunc.py").write_text(endless)
    lake = lake_with(database, tmp_path, loaded(rule_model(tmp_path / "models" / "rule"), page_size=2), "loaded")

    assert re.search("answered more than 32 MiB for one page", lake.check(NOON).run.reason or "")


def test_the_process_ends_with_its_worker_also_while_the_model_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_mlflow_on_path(tmp_path, monkeypatch)
    works = (
        "import threading\n\nclass Model:\n    def __init__(self, folder): pass\n"
        "    def predict(self, frame): threading.Event().wait()\n\nload_model = Model\n"
    )
    (tmp_path / "stub" / "mlflow" / "pyfunc.py").write_text(works)
    command = [sys.executable, "-P", model_process.__file__, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert model_process.HEAD.unpack(process.stdout.read(model_process.HEAD.size)) == (model_process.OK, 0)
        page = b'{"dataframe_split": {"columns": ["sex"], "data": [["male"]]}}'
        process.stdin.write(model_process.SIZE.pack(len(page)) + page)
        process.stdin.flush()
        process.stdin.close()  # as the end of the worker does

        assert process.wait() < 0


@pytest.fixture
def real_model(tmp_path: Path) -> Path:
    """The rule as MLflow itself saves it."""
    pytest.importorskip("mlflow", reason="MLflow is not installed; scripts/trial spark test runs this")
    model = tmp_path / "models" / "rule"
    save_rule_model(model)
    return model


def test_a_model_of_mlflow_itself_gives_the_figures_of_the_same_model_over_http(
    database: Database, tmp_path: Path, real_model: Path
) -> None:
    expected, _ = check_over_http(database, tmp_path)
    lake = lake_with(database, tmp_path, loaded(real_model, timeout_seconds=300.0), "loaded")

    assert figures(lake.check(NOON)) == expected


def test_registered_models_are_found_in_the_registry_that_the_worker_is_started_with(
    database: Database, tmp_path: Path, real_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = f"sqlite:///{tmp_path / 'registry.db'}"
    register_rule_model(real_model, registry, name="credit", alias="champion")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", registry)
    expected, _ = check_over_http(database, tmp_path)

    for name, uri in (("version", "models:/credit/1"), ("alias", "models:/credit@champion")):
        lake = registered_in(database, tmp_path, uri, name)
        assert figures(lake.check(NOON)) == expected
    reason = registered_in(database, tmp_path, "models:/credit/2", "missing").check(NOON).run.reason or ""
    assert re.search(r"models:/credit/2 cannot be loaded: .*Model Version .*name=credit, version=2.* not found", reason)


def test_a_registered_model_without_a_registry_is_refused_and_no_registry_is_made(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow", reason="MLflow is not installed; scripts/trial spark test runs this")
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    reason = registered_in(database, tmp_path, "models:/credit/1", "registered").check(NOON).run.reason or ""
    assert re.search(r"cannot be loaded: MLflow has no registry here\. Start workers, .*with MLFLOW_TRACKING_URI", reason)
    assert list((tmp_path / "work").iterdir()) == []


def test_the_stored_deployment_has_its_model(database: Database, tmp_path: Path) -> None:
    lake = lake_with(database, tmp_path, loaded(tmp_path / "models" / "rule"), "loaded")
    endpoint = lake.stage.deployment.endpoint
    assert endpoint is not None
    assert (endpoint.source, endpoint.uri, endpoint.url) == (EndpointSource.MLFLOW, str(tmp_path / "models" / "rule"), "")
