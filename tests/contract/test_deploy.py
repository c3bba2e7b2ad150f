"""Files of operations: every metric that they name exists, every rule leads into the runbook."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy/prometheus/evenhand.rules.yml"
DASHBOARD = ROOT / "deploy/grafana/evenhand.json"

_NAME = re.compile(r"\bevenhand_[a-z0-9_]+")
_LABELS = re.compile(r"(evenhand_[a-z0-9_]+)\{([^}]*)\}")
_ROW = re.compile(r"\| `(evenhand_[a-z_]+)` \| (counter|gauge|histogram) \| ([^|]*)\|")


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in rules())
    yield from (target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel["targets"])


def documented() -> dict[str, set[str]]:
    """The names that the service exposes (`tests/contract/test_docs.py` compares them with it), each with its labels."""
    names = {}
    for name, kind, labels in _ROW.findall((ROOT / "docs/operations/monitoring.md").read_text()):
        known = set(re.findall(r"`(\w+)`", labels))
        names |= {f"{name}{end}": known for end in (("_bucket", "_sum", "_count") if kind == "histogram" else ("",))}
    return names


def test_every_metric_that_is_named_exists() -> None:
    named = {name for expression in expressions() for name in _NAME.findall(expression)}

    assert named - documented().keys() == set()
    assert len(named) > 15


def test_every_label_that_is_compared_exists() -> None:
    known = documented()
    compared = [
        (name, label)
        for expression in expressions()
        for name, inside in _LABELS.findall(expression)
        for label in re.findall(r"(\w+)\s*=", inside)
    ]

    assert [(name, label) for name, label in compared if label not in known[name]] == []


def test_every_metric_that_is_exposed_is_on_the_dashboard() -> None:
    shown = " ".join(target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel["targets"])
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in documented()}
    left_out = {
        "evenhand_checks_stored",
        "evenhand_deployments",
        "evenhand_mitigated_records_total",
        "evenhand_check_seconds",
        "evenhand_notification_age_seconds",
    }

    assert {family for family in families if family not in shown} == left_out


def test_expressions_are_balanced_and_rules_complete() -> None:
    for expression in expressions():
        assert all(expression.count(opened) == expression.count(closed) for opened, closed in ("()", "[]", "{}"))
    assert all({"alert", "expr", "labels", "annotations"} <= rule.keys() for rule in rules())
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names)


def test_every_rule_leads_to_a_part_of_the_runbook() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "docs/operations/runbook.md").read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}

    assert {rule["annotations"]["runbook"].split("#")[1] for rule in rules()} <= anchors
    assert all(rule["annotations"]["runbook"].startswith("docs/operations/runbook.md#") for rule in rules())


def test_panels_have_places_of_their_own() -> None:
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in json.loads(DASHBOARD.read_text())["panels"]]

    assert len(set(places)) == len(places)
