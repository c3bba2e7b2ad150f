"""Pages about evidence over time: rules and false alarms."""

import html
import re

import httpx

from app.evidence.sentences import SINGLE_CHECKS_ALARM
from app.store.database.engine import Database
from tests.builders.alerts import judge_single_checks
from tests.scenes import Scene
from tests.service import RunningService

PAGE = "/deployments/a-model"


def words(text: str) -> str:
    """The text of a page without its tags."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", text)))


def rules_of(text: str) -> str:
    """The rules as they are listed, without the forms that change them."""
    return words(re.sub(r"<details.*?</details>", "", text, flags=re.DOTALL))


def test_a_rule_about_single_checks_says_how_often_it_is_wrong(
    service: RunningService, stage: Scene, reader: httpx.Client, database: Database
) -> None:
    by_evidence = reader.get(f"{PAGE}/alerts").text
    judge_single_checks(database, stage.deployment.no)
    by_checks = reader.get(f"{PAGE}/alerts").text
    rule = {"name": "Evidence", "condition": {"kind": "evidence", "attributes": ["sex"], "data": ["payload"]}}
    service.client.put(f"/v1{PAGE}/alert-rules/evidence", json=rule).raise_for_status()
    by_both = reader.get(f"{PAGE}/alerts").text

    assert SINGLE_CHECKS_ALARM not in rules_of(by_evidence)
    assert "on payload or balanced or feedback data" in rules_of(by_evidence)
    assert rules_of(by_checks).count(SINGLE_CHECKS_ALARM) == 1
    assert 'href="#add-rule"' in by_checks
    assert rules_of(by_both).count(SINGLE_CHECKS_ALARM) == 1
    assert 'href="#rule-evidence"' in by_both
    assert 'id="rule-evidence"' in by_both
    assert "When evidence has accumulated that a metric is beyond a limit on payload data for sex." in rules_of(by_both)


def test_the_form_of_a_new_rule_begins_with_evidence_and_warns_of_single_checks(stage: Scene, reader: httpx.Client) -> None:
    text = reader.get(f"{PAGE}/alerts").text
    form = text.partition('id="add-rule"')[2]

    assert stage.deployment.id == "a-model"
    assert '<option value="evidence" selected>' in form
    assert SINGLE_CHECKS_ALARM in words(form)
