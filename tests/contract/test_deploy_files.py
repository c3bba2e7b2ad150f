"""Compose with replicas, the proxy and the Helm chart as data. There is neither Docker nor Helm here, so nothing is started or rendered."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from app.base.settings import Settings

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm/evenhand"
TEMPLATES = sorted((CHART / "templates").glob("*.yaml"))
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())


class _ComposeLoader(yaml.SafeLoader):
    """YAML with the tags by which compose joins files."""


_ComposeLoader.add_constructor("!reset", lambda _loader, _node: [])
_ComposeLoader.add_constructor("!override", lambda loader, node: loader.construct_sequence(node))

REPLICAS: dict[str, Any] = yaml.load((ROOT / "deploy/compose.replicas.yml").read_text(), _ComposeLoader)  # noqa: S506 - a safe one


def test_replicas_are_two_services_and_two_workers_behind_one_proxy() -> None:
    services = REPLICAS["services"]

    assert sorted(services) == ["proxy", "service", "service-2", "worker-2"]
    assert [name for name, service in services.items() if service.get("ports")] == ["proxy"]
    assert services["service-2"]["volumes"] == ["evenhand-2:/var/lib/evenhand"]
    assert "database" not in services["proxy"]["networks"]
    assert all("front" in services[name]["networks"] for name in ("service", "service-2", "proxy"))
    assert services["proxy"]["read_only"] is True


def test_the_proxy_knows_both_services_and_has_limits() -> None:
    text = (ROOT / "deploy/nginx.conf").read_text()

    assert re.findall(r"server (service[-\d]*):8000", text) == ["service", "service-2"]
    assert all(word in text for word in ("limit_conn ", "limit_req ", "ssl_protocols TLSv1.2 TLSv1.3", "X-Forwarded-For $remote_addr"))
    assert text.count("{") == text.count("}")


def test_the_values_fit_their_schema_and_others_do_not() -> None:
    schema = jsonschema_rs.validator_for(json.loads((CHART / "values.schema.json").read_text()))
    wrong = [
        {**VALUES, "replicas": 2},
        {**VALUES, "service": {**VALUES["service"], "replicas": 0}},
        {**VALUES, "environment": {"DATABASE_URL": "postgresql://here"}},
        {**VALUES, "spool": {"size": "2GB", "storageClassName": ""}},
        {**VALUES, "existingSecret": ""},
    ]

    assert list(schema.iter_errors(VALUES)) == []
    assert [schema.is_valid(values) for values in wrong] == [False] * len(wrong)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_a_template_is_yaml_once_its_actions_are_filled(template: Path) -> None:
    lines = [line for line in template.read_text().splitlines() if not re.fullmatch(r"\s*\{\{-? .*\}\}", line)]
    documents = list(yaml.safe_load_all(re.sub(r"\{\{.*?\}\}", "x", "\n".join(lines))))

    assert all({"apiVersion", "kind", "metadata"} <= document.keys() for document in documents)
    assert template.read_text().count("{{") == template.read_text().count("}}")


def test_every_value_that_a_template_reads_exists_and_every_variable_is_a_setting() -> None:
    text = "\n".join(path.read_text() for path in (CHART / "templates").iterdir())
    for path in set(re.findall(r"\.Values\.([A-Za-z.]+)", text)):
        found: Any = VALUES
        for name in path.split("."):
            assert name in found, path
            found = found[name]
    variables = {name.removesuffix("_FILE") for name in re.findall(r"EVENHAND_[A-Z_]+", text)}

    assert variables <= {f"EVENHAND_{name.upper()}" for name in Settings.model_fields}
    opened = len(re.findall(r"\{\{-? (?:if|range|define) ", text))
    assert opened == len(re.findall(r"\{\{-? end \}\}", text))


def test_containers_of_the_chart_are_closed() -> None:
    for template in TEMPLATES:
        text = template.read_text()
        if "containers:" in text:
            assert 'include "evenhand.hardened"' in text
            assert 'include "evenhand.pod"' in text
