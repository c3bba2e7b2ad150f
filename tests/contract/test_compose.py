"""docker-compose.yml as data: what closes each container. There is no Docker here, so nothing is started."""

import re
from typing import Any

import pytest
import yaml

from app import VERSION
from app.base.settings import Settings
from tests.builders.docs_pages import REPOSITORY

COMPOSE: dict[str, Any] = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("migrate", "service", "worker")


def test_the_containers_are_those_that_are_checked() -> None:
    assert sorted(SERVICES) == sorted([*OURS, "postgres"])


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_is_closed(name: str) -> None:
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"] == "2g"
    assert service["pids_limit"] == 512
    assert not {"privileged", "network_mode", "pid", "ipc", "userns_mode", "devices"} & service.keys()


@pytest.mark.parametrize("name", SERVICES)
def test_only_postgres_has_capabilities_and_those_of_its_entry_point(name: str) -> None:
    needed = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"] if name == "postgres" else []

    assert SERVICES[name].get("cap_add", []) == needed


def test_one_port_is_published_on_loopback() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}

    assert published == {"service": ["127.0.0.1:${EVENHAND_PORT:-8000}:8000"]}


def test_postgres_is_on_a_network_that_leads_nowhere() -> None:
    assert SERVICES["postgres"]["networks"] == ["database"]
    assert COMPOSE["networks"]["database"] == {"internal": True}
    assert all(SERVICES[name]["networks"] == ["database", "outside"] for name in OURS)


def test_images_have_exact_versions() -> None:
    assert re.fullmatch(r"postgres:\d+\.\d+", SERVICES["postgres"]["image"])
    assert {SERVICES[name]["image"] for name in OURS} == {f"evenhand:{VERSION}"}
    dockerfile = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"^ARG PYTHON=python:3\.\d+\.\d+-slim-\w+$", dockerfile, re.MULTILINE)
    assert re.search(r"^USER evenhand$", dockerfile, re.MULTILINE)


def test_secrets_come_from_files_and_stand_in_no_environment() -> None:
    assert {name: secret["file"] for name, secret in COMPOSE["secrets"].items()} == {
        "postgres_password": "./secrets/postgres_password",
        "evenhand_secret_key": "./secrets/evenhand_secret_key",
    }
    assert SERVICES["postgres"]["secrets"] == ["postgres_password"]
    assert SERVICES["postgres"]["environment"]["POSTGRES_PASSWORD_FILE"] == "/run/secrets/postgres_password"  # noqa: S105 - a path
    for name in OURS:
        environment = SERVICES[name]["environment"]
        assert SERVICES[name]["secrets"] == ["postgres_password", "evenhand_secret_key"]
        assert environment["DATABASE_PASSWORD_FILE"] == "/run/secrets/postgres_password"  # noqa: S105 - a path
        assert environment["EVENHAND_SECRET_KEY_FILE"] == "/run/secrets/evenhand_secret_key"  # noqa: S105 - a path
    for service in SERVICES.values():
        assert not {"POSTGRES_PASSWORD", "DATABASE_PASSWORD", "EVENHAND_SECRET_KEY"} & service["environment"].keys()


@pytest.mark.parametrize("name", OURS)
def test_a_container_is_given_settings_that_exist(name: str) -> None:
    known = {str(field.validation_alias or f"EVENHAND_{key.upper()}") for key, field in Settings.model_fields.items()}

    assert {variable.removesuffix("_FILE") for variable in SERVICES[name]["environment"]} <= known


def test_the_secrets_stay_out_of_the_repository_and_of_the_image() -> None:
    assert "/secrets/" in (REPOSITORY / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert not re.search(r"^(COPY|ADD) \.", (REPOSITORY / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
