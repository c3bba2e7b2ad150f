"""Each thing that the clause map names as an answer to a rule exists."""

from typer.testing import CliRunner

from app.cli import evenhand
from app.reports.regulator.clauses import CLAUSES
from app.reports.regulator.cover import name_answer
from app.reports.regulator.sheets import PeriodSheet
from app.retention.policy import RetentionPreset
from app.statistics.selections.selection_presets import ReportPreset
from tests.service import RunningService


def test_whatever_answers_a_rule_exists(service: RunningService) -> None:
    paths = service.client.get("/openapi.json").json()["paths"].values()
    existing = {f"api:{operation['operationId']}" for item in paths for operation in item.values()}
    existing |= {f"sheet:{sheet}" for sheet in PeriodSheet} | {"chapter:population", "chapter:limits"}
    existing |= {f"preset:{preset}" for preset in ReportPreset} | {f"retention:{preset}" for preset in RetentionPreset}
    named = {name for clause in CLAUSES for name in clause.answered_by}

    commands = {name for name in named if name.startswith("command:")}
    assert named - commands - existing == set()
    for name in commands:
        program, *words = name.removeprefix("command:").split()
        assert program == "evenhand"
        assert CliRunner().invoke(evenhand, [*words, "--help"]).exit_code == 0, name
    assert all(name_answer(name) for name in named)
