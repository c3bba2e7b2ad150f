"""Tutorials by the real SDK (3.1.11), recorded by `openscale/walk/run --tutorials --record`, sent again: their figures.

Compared with the check's own before OpenScale's rounding, with what OpenScale printed after it, and with scikit-learn.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("sklearn", reason="scikit-learn, which figures are compared with, is not installed")

from sklearn import metrics as oracle

from app.store.database.engine import Database
from openscale.tests.bodies import read
from openscale.tests.compared_figures import find_differences, find_differences_from_published
from openscale.tests.replay import Replay
from openscale.walk.shapes import read_calls
from tests.builders.check_results import read_results
from tests.builders.workers import working
from tests.databases import Databases
from tests.models.lookup import CLASSES, LookupScorer
from tests.models.serving import serve
from tests.service import running_service

RECORDED = json.loads((Path(__file__).parent / "tutorials.json").read_text())
CALLS = read_calls(RECORDED)


@dataclass(frozen=True, slots=True)
class Read:
    """What the SDK reads of a tutorial, and the check as REST v1 answers it."""

    values: Mapping[str, Any]
    sources: list[Any]
    check: Mapping[str, Any]

    def quality(self) -> dict[str, float]:
        """The metrics of the quality instance."""
        return {metric["id"]: metric["value"] for value in self.values["quality"] for metric in value["metrics"]}


def read_tutorial(client: httpx.Client, subscription: str) -> Read:
    # The newest: the first run of the instance begins by itself.
    run = read(client, f"monitor_instances/fairness.{subscription}/runs")["runs"][0]
    check = read_results(client, f"/v1/deployments/{subscription}/checks/{run['metadata']['id']}")
    instances = read(client, "monitor_instances", **{"target.target_id": subscription})["monitor_instances"]
    values: dict[str, Any] = {}
    sources: list[Any] = []
    for kind in {one["entity"]["monitor_definition_id"] for one in instances} - {"performance"}:
        entity = read(client, f"monitor_instances/{kind}.{subscription}/measurements/{check['id']}")["entity"]
        values[kind], sources = entity["values"], sources + entity["sources"]
    return Read(values, sources, check)


@pytest.fixture(scope="module")
def tutorials(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Read]]:
    with databases.lent() as url:
        database = Database(url)
        with running_service(database, tmp_path_factory.mktemp("tutorials")) as service, serve(LookupScorer()) as model, working(database):
            known = {"MODEL": model.url}
            replay = Replay(service.client, known)
            for call in CALLS:
                answer = replay.send(call)
                assert answer.status_code == call["status"], (call["method"], call["path"], answer.text)
                replay.learn(call, answer)
            yield {name: read_tutorial(service.client, known[old]) for name, old in RECORDED["subscriptions"].items()}
        database.close()


@pytest.mark.parametrize("name", RECORDED["subscriptions"])
def test_every_figure_is_the_checks_own(tutorials: dict[str, Read], name: str) -> None:
    found = tutorials[name]

    assert found.check["state"] == "succeeded"
    assert list(find_differences(found.values, found.check)) == []


def test_the_figures_of_a_published_hour_are_those_that_openscale_printed(tutorials: dict[str, Read]) -> None:
    assert find_differences_from_published(tutorials["binary"].sources) == []


@pytest.mark.parametrize("name", RECORDED["subscriptions"])
def test_the_verdict_of_a_summary_is_that_of_its_figures(tutorials: dict[str, Read], name: str) -> None:
    """Headless models and meta fields have no copies, from which OpenScale takes the verdict."""
    (summary,) = [one["data"] for one in tutorials[name].sources if one.get("data", {}).get("metric_type") == "fairness"]

    for feature in summary["summary"]:
        (group,) = feature["minority"]["values"]
        limit = group["acceptable_fav_class_percent"]
        assert feature["is_biased"] == group["is_biased"] == (group["fav_class_percent"] < limit)
        assert group["is_biased"] == (feature["fairness_value"] < 100 * limit / group["perfect_equality"])
    distributions = [one["data"]["values"] for one in tutorials[name].sources if one["type"] == "data_distribution"]
    assert all(distributions)


def feedback(name: str) -> list[tuple[Any, Any]]:
    """Label and prediction of the tutorial's labelled records, as they were sent."""
    address = f"/data_sets/feedback.{RECORDED['subscriptions'][name]}/records"
    (sent,) = [json.loads(call["body"]) for call in CALLS if call["method"] == "POST" and address in call["path"]]
    return [(row["label"], row.get("answer", row.get(f"as {row.get('Sex')}"))) for row in sent]


def test_the_quality_of_several_classes_is_that_of_scikit_learn(tutorials: dict[str, Read]) -> None:
    actual, predicted = zip(*feedback("several classes"), strict=True)
    found = tutorials["several classes"].quality()

    assert found["accuracy"] == found["weighted_true_positive_rate"] == pytest.approx(oracle.accuracy_score(actual, predicted), abs=1e-9)
    for kind in ("macro", "weighted"):
        precision, recall, f1, _ = oracle.precision_recall_fscore_support(actual, predicted, average=kind, zero_division=0)
        shown = [found[f"{kind}_{name}"] for name in ("precision", "recall", "f1_measure")]
        assert shown == pytest.approx([precision, recall, f1], abs=1e-9)
    assert {"macro_false_positive_rate", "weighted_false_positive_rate"} <= found.keys()
    probabilities = [[0.7 if one == answer else 0.1 for one in sorted(CLASSES)] for answer in predicted]
    assert found["log_loss"] == pytest.approx(oracle.log_loss(actual, probabilities, labels=sorted(CLASSES)), abs=1e-9)


def test_the_quality_of_a_regression_is_that_of_scikit_learn(tutorials: dict[str, Read]) -> None:
    actual, predicted = zip(*feedback("regression"), strict=True)

    assert tutorials["regression"].quality() == pytest.approx(
        {
            "mean_absolute_error": oracle.mean_absolute_error(actual, predicted),
            "mean_squared_error": oracle.mean_squared_error(actual, predicted),
            "root_mean_squared_error": oracle.root_mean_squared_error(actual, predicted),
            "r2": oracle.r2_score(actual, predicted),
            "explained_variance": oracle.explained_variance_score(actual, predicted),
        },
        rel=1e-9,
    )


def test_the_quality_of_a_binary_model_has_all_that_openscale_names(tutorials: dict[str, Read]) -> None:
    actual, predicted = zip(*feedback("binary"), strict=True)
    scores = [0.9 if one == "No Risk" else 0.2 for one in predicted]
    favourable = [one == "No Risk" for one in actual]
    found = tutorials["binary"].quality()

    assert found["area_under_pr"] == pytest.approx(oracle.average_precision_score(favourable, scores), abs=1e-9)
    assert found["area_under_roc"] == pytest.approx(oracle.roc_auc_score(favourable, scores), abs=1e-9)
    assert found["log_loss"] == pytest.approx(oracle.log_loss(favourable, scores), abs=1e-9)
    assert found["precision"] == pytest.approx(oracle.precision_score(actual, predicted, pos_label="No Risk"), abs=1e-9)
    assert {"accuracy", "true_positive_rate", "recall", "false_positive_rate", "f1_measure"} <= found.keys()
