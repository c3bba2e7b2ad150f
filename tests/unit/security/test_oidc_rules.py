"""Roles and names from claims, log-ins sealed into cookies, and settings that are refused."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.access.issuer import issuer_log_in as pending
from app.access.issuer.verify_token import Grant, OidcConfiguration, identify, read_claim, read_configuration
from app.access.principals import Role
from app.access.secret_box import SecretBox
from app.base.errors import Forbidden, SetupError, Unauthenticated
from app.base.settings import Settings

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
BOX = SecretBox("the secret key of these tests")
RULES = """[
    {"claim": "groups", "value": "readers", "role": "read"},
    {"claim": "groups", "value": "credit", "role": "manage", "deployment": "credit-risk"},
    {"claim": "groups", "value": "loans", "role": "manage", "deployment": "loans"},
    {"claim": "groups", "value": "managers", "role": "manage"},
    {"claim": "realm_access.roles", "value": "scorer", "role": "ingest"},
    {"claim": "https://example.com/roles", "value": "boss", "role": "admin"}
]"""
USUAL: dict[str, Any] = {
    "oidc_issuer": "https://login.example.com",
    "oidc_client_id": "evenhand",
    "oidc_roles": RULES,
    "public_url": "https://evenhand.example.com/",
}


def configured(**changes: object) -> OidcConfiguration:
    found = read_configuration(Settings(**{**USUAL, **changes}))
    assert found is not None
    return found


def grant(**claims: object) -> Grant:
    return identify({"sub": "1", **claims}, configured(), for_pages=False).grant


def test_the_highest_role_counts_and_one_for_all_deployments_before_one_for_one() -> None:
    assert grant(groups=["readers"]) == Grant(Role.READ, None)
    assert grant(groups="readers") == Grant(Role.READ, None)
    assert grant(groups=["readers", "credit"]) == Grant(Role.MANAGE, "credit-risk")
    assert grant(groups=["credit", "managers"]) == Grant(Role.MANAGE, None)
    assert grant(**{"https://example.com/roles": ["boss"]}) == Grant(Role.ADMIN, None)
    assert grant(realm_access={"roles": ["scorer"]}) == Grant(Role.INGEST, None)


@pytest.mark.parametrize("groups", [[], None, ["reader"], ["READERS"], [["readers"]], {"readers": True}, 7, "readers,managers"])
def test_claims_that_no_rule_names_exactly_give_no_role(groups: object) -> None:
    with pytest.raises(Forbidden, match="gives you a role"):
        grant(groups=groups)


def test_a_role_for_several_deployments_is_refused_and_says_so() -> None:
    with pytest.raises(Forbidden, match=r"several deployments \(credit-risk, loans\)"):
        grant(groups=["credit", "loans"])


def test_a_role_for_logging_opens_no_page() -> None:
    with pytest.raises(Forbidden):
        identify({"sub": "1", "realm_access": {"roles": ["scorer"]}}, configured(), for_pages=True)


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"preferred_username": "Ada.Lovelace@Example.com"}, "ada.lovelace@example.com"),
        ({"preferred_username": "<b>Zoë</b>"}, "-b-zo-b-"),
        ({"preferred_username": "x" * 500}, "x" * 48),
        ({}, "1"),
        ({"preferred_username": "日本"}, "unnamed"),
    ],
)
def test_a_name_has_the_form_of_a_user_name(claims: dict[str, Any], name: str) -> None:
    found = identify({"sub": "1", "groups": ["readers"], **claims}, configured(), for_pages=True)

    assert found.name.strip("-") == name.strip("-")
    assert found.distinct_name.startswith(f"{found.name}-")
    assert len(found.distinct_name) <= 64


def test_a_claim_is_found_by_its_name_before_its_path() -> None:
    assert read_claim({"a.b": "x", "a": {"b": "y"}}, "a.b") == {"x"}
    assert read_claim({"a": {"b": ["y", 1, "z"]}}, "a.b") == {"y", "z"}
    assert read_claim({"a": "x"}, "a.b.c") == frozenset()


def test_a_log_in_is_read_from_its_cookie_only_and_for_ten_minutes() -> None:
    begun = pending.begin_log_in("/deployments/x", NOW)
    cookie = pending.seal_log_in(begun, BOX)

    assert pending.unseal_log_in(cookie, begun.state, BOX, now=NOW + timedelta(minutes=9)) == begun
    assert pending.PENDING_FORM.fullmatch(cookie)
    assert begun.state not in cookie
    for text, state, now in (
        (cookie, "other", NOW),
        (cookie, "", NOW),
        (cookie, "\ud800", NOW),
        (None, begun.state, NOW),
        ("", begun.state, NOW),
        (cookie[:-4] + "AAAA", begun.state, NOW),
        (cookie, begun.state, NOW + pending.PENDING_LIFETIME),
        (cookie, begun.state, NOW - timedelta(seconds=1)),
        (pending.seal_log_in(begun, SecretBox("another")), begun.state, NOW),
    ):
        with pytest.raises(Unauthenticated):
            pending.unseal_log_in(text, state, BOX, now=now)


def test_the_challenge_is_that_of_rfc_7636() -> None:
    begun = pending.PendingLogIn("s", "n", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "/", NOW)

    assert begun.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"oidc_client_id": ""}, "CLIENT_ID"),
        ({"public_url": ""}, "PUBLIC_URL"),
        ({"oidc_issuer": "http://login.example.com"}, "OIDC_ISSUER"),
        ({"oidc_issuer": "https://a@login.example.com"}, "OIDC_ISSUER"),
        ({"public_url": "http://evenhand.example.com"}, "PUBLIC_URL"),
        ({"oidc_roles": ""}, "OIDC_ROLES"),
        ({"oidc_roles": "{"}, "OIDC_ROLES"),
        ({"oidc_roles": '[{"claim": "g", "value": "v", "role": "king"}]'}, "OIDC_ROLES"),
        ({"oidc_roles": '[{"claim": "g", "value": "v", "role": "read", "deploy": "x"}]'}, "OIDC_ROLES"),
        ({"oidc_roles": '[{"claim": "g", "value": "v", "role": "admin", "deployment": "x"}]'}, "OIDC_ROLES"),
    ],
)
def test_settings_that_cannot_be_used_stop_the_start_and_are_named(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(SetupError, match=word):
        configured(**changes)


def test_without_an_issuer_there_is_nothing_to_configure() -> None:
    assert read_configuration(Settings()) is None
    assert configured().redirect_uri == "https://evenhand.example.com/login/oidc/callback"
    assert configured(oidc_issuer="http://127.0.0.1:8080/realms/x").issuer == "http://127.0.0.1:8080/realms/x"


def test_the_examples_of_the_documentation_can_be_used() -> None:
    page = (Path(__file__).parents[3] / "docs" / "operations" / "log-in-at-an-issuer.md").read_text()
    examples = [block.partition("```")[0].strip() for block in page.split("```text")[1:]]
    found = []
    for example in examples:
        values = dict(line.removeprefix("EVENHAND_").split("=", 1) for line in example.splitlines())
        settings = {name.lower(): value for name, value in values.items() if not name.endswith("_FILE")}
        found.append(configured(**settings))

    assert [len(issuer.rules) for issuer in found] == [3, 2, 3]
    assert [issuer.audience for issuer in found] == [None, "evenhand-api", "CLIENT-ID"]
