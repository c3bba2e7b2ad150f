"""The figures that the page on mitigation quotes are those that checks give."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.database.engine import Database
from app.deployments.mitigation_queries import store_mitigation_settings
from app.domain.mitigation import MitigationSettings, Mode
from tests.builders.docs_pages import REPOSITORY, table
from tests.builders.golden_scenes import staged
from tests.golden import golden
from tests.models.logistic import LogisticModel
from tests.models.serving import serve
from tests.scenes import NOON, Result

PAGE: Path = REPOSITORY / "docs" / "concepts" / "mitigation.md"


def checks_of(database: Database, case: str) -> Iterator[tuple[str, Result]]:
    with serve(LogisticModel.of(golden(case))) as server:
        stage, rows = staged(database, case, server)
        stage.log(rows, NOON)
        stage.label([(row["id"], row["actual"]) for row in rows], NOON)
        for mode in Mode:
            with database.transaction() as session:
                store_mitigation_settings(session, stage.deployment.no, MitigationSettings(mode=mode))
            yield mode.value, stage.check(NOON)


def changed(result: Result, attribute: str) -> str:
    assert result.run.window is not None
    return str(result.run.window["mitigation"]["attributes"][attribute]["changed"])


@pytest.mark.nightly
def test_the_run_on_adult(database: Database) -> None:
    quoted = list(table(PAGE, "Mode | Changed"))

    found: list[list[str]] = []
    for mode, result in checks_of(database, "A1_adult"):
        for when in ["before", "after"] if not found else ["after"]:
            impact, counterfactual = (
                f"{result.value(f'{metric}_{when}', 'mitigated', 'sex', 'Female'):.3f}"
                for metric in ("disparate_impact", "counterfactual_disparate_impact")
            )
            accuracy, balanced_accuracy = (
                f"{result.value(f'{metric}_{when}', 'mitigated_labelled', 'sex', scope='overall'):.4f}"
                for metric in ("accuracy", "balanced_accuracy")
            )
            name = mode if when == "after" else "none"
            found.append([name, "0" if when == "before" else changed(result, "sex"), impact, counterfactual, accuracy, balanced_accuracy])

    assert found == quoted


@pytest.mark.nightly
@pytest.mark.parametrize("attribute", ["Sex", "Housing"])
def test_the_run_on_credit_risk(database: Database, attribute: str) -> None:
    quoted = [row[1:] for row in table(PAGE, "Attribute") if row[0] == attribute]
    groups = {"Sex": ["female"], "Housing": ["rent", "free"]}[attribute]

    found: list[list[str]] = []
    for mode, result in checks_of(database, "A2_openscale_credit_risk"):
        for when in ["before", "after"] if not found else ["after"]:
            values = [f"{group} {result.value(f'disparate_impact_{when}', 'mitigated', attribute, group):.3f}" for group in groups]
            accuracy = f"{result.value(f'accuracy_{when}', 'mitigated_labelled', attribute, scope='overall'):.4f}"
            name, count = ("none", "0") if when == "before" else (mode, changed(result, attribute))
            found.append([name, count, ", ".join(values), accuracy])

    assert found == quoted
