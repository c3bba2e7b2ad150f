"""Log-in at a real issuer on loopback: the whole walk, the attacks on it, and how it ends."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from sqlalchemy import text

from app.access.issuer import issuer as issuers
from app.access.users.browser_sessions import hash_token
from app.database.engine import Database
from tests.builders.bodies import deployment
from tests.builders.issuers import AUDIENCE, CLIENT, LocalIssuer, make_key, running_issuer, sign
from tests.builders.issuers import begin_log_in as begin
from tests.databases import Databases
from tests.service import RunningService, running_service

HTML = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def scene(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningService, LocalIssuer]]:
    with databases.lent() as url, running_issuer() as issuer:
        database = Database(url)
        bound = {"claim": "groups", "value": "credit", "role": "manage", "deployment": "credit-risk"}
        gone = {"claim": "groups", "value": "gone", "role": "read", "deployment": "gone"}
        with running_service(database, tmp_path_factory.mktemp("oidc"), **issuer.settings(bound, gone)) as service:
            service.client.post("/v1/deployments", json=deployment()).raise_for_status()
            service.client.post("/v1/deployments", json=deployment(id="other")).raise_for_status()
            yield service, issuer
        database.close()


@pytest.fixture
def service(scene: tuple[RunningService, LocalIssuer]) -> RunningService:
    return scene[0]


@pytest.fixture
def issuer(scene: tuple[RunningService, LocalIssuer]) -> LocalIssuer:
    usual = LocalIssuer(scene[1].url)
    for name in ("subject", "changes", "signing_key", "published", "forged", "codes", "refused"):
        setattr(scene[1], name, getattr(usual, name))
    return scene[1]


@pytest.fixture
def browser(service: RunningService) -> Iterator[httpx.Client]:
    with service.new_client(headers=HTML) as client:
        yield client


def log_in(browser: httpx.Client, next_path: str = "/settings") -> httpx.Response:
    return browser.get(begin(browser, next_path))


def test_a_person_logs_in_at_the_issuer_and_continues_at_the_page_that_was_asked_for(
    service: RunningService, issuer: LocalIssuer, browser: httpx.Client
) -> None:
    form = browser.get("/login?next=/deployments/credit-risk").text

    ended = log_in(browser, "/deployments/credit-risk?range=7d")
    me = browser.get("/v1/me").json()

    assert "evenhand_login" not in browser.cookies
    assert '/login/oidc?next=/deployments/credit-risk"' in form
    assert (ended.status_code, ended.headers["location"]) == (303, "/deployments/credit-risk?range=7d")
    assert (me["actor"], me["role"], me["deployment_id"]) == ("user:ada", "read", None)
    cookie = next(one for one in ended.headers.get_list("set-cookie") if one.startswith("evenhand_session="))
    assert {"HttpOnly", "SameSite=lax", "Max-Age=28800"} <= {part.strip() for part in cookie.split(";")}
    with service.database.transaction() as session:
        noted = session.execute(text("SELECT actor, action, details FROM audit_events WHERE actor = 'user:ada' ORDER BY no")).all()
        stored = session.execute(text("SELECT users::text FROM users WHERE name = 'ada'")).scalar_one()
    assert ("user:ada", "session.started", {"method": "oidc"}) in [tuple(row) for row in noted]
    assert issuer.url in stored
    assert not issuer.refused


def test_the_request_has_pkce_a_state_and_a_nonce_which_differ_each_time(issuer: LocalIssuer, browser: httpx.Client) -> None:
    asked = [parse_qs(urlsplit(browser.get("/login/oidc").headers["location"]).query) for _ in range(2)]

    for one in asked:
        assert one["response_type"] == ["code"]
        assert one["code_challenge_method"] == ["S256"]
        assert one["client_id"] == [CLIENT]
        assert one["redirect_uri"] == ["http://localhost:8000/login/oidc/callback"]
        assert one["scope"] == ["openid profile email"]
    assert all(asked[0][name] != asked[1][name] for name in ("state", "nonce", "code_challenge"))
    assert issuer.url


@pytest.mark.parametrize(
    "wanted", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/a\r\nb", "evil", "/" + "x" * 5000]
)
def test_the_address_to_continue_at_is_never_one_of_another_host(issuer: LocalIssuer, browser: httpx.Client, wanted: str) -> None:
    ended = log_in(browser, wanted)

    assert (ended.status_code, ended.headers["location"]) == (303, "/")
    assert issuer.codes == {}


def test_a_used_state_is_refused_by_every_process_even_if_the_issuer_accepts_the_code_again(
    service: RunningService, issuer: LocalIssuer, browser: httpx.Client
) -> None:
    begun = browser.get("/login/oidc")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(begun.headers["location"]).query).items()}
    cookie = browser.cookies["evenhand_login"]
    ends = []
    for _ in range(2):
        parts = urlsplit(issuer.authorise(asked))
        with service.new_client(headers=HTML, cookies={"evenhand_login": cookie}) as one:
            ends.append(one.get(f"{parts.path}?{parts.query}"))

    assert [end.status_code for end in ends] == [303, 401]
    assert "has ended before" in ends[1].text
    assert not issuer.refused


def test_an_answer_to_another_browser_begins_no_session(service: RunningService, issuer: LocalIssuer, browser: httpx.Client) -> None:
    callback = begin(browser)
    with service.new_client(headers=HTML) as victim:
        without = victim.get(callback)
        begin(victim)
        with_own = victim.get(callback)

    assert [without.status_code, with_own.status_code] == [401, 401]
    assert "not begun in this browser" in without.text
    assert len(issuer.codes) == 2  # neither code was sent to the issuer


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nonce": "of another log-in"}, "belongs to another log-in"),
        ({"aud": "another-client"}, "another audience"),
        ({"aud": [CLIENT, "another"], "azp": "another"}, "another client"),
        ({"iss": "https://evil.example"}, "another issuer"),
        ({"exp": 1_700_000_000}, "expired"),
        ({"sub": ""}, "names nobody"),
    ],
)
def test_an_id_token_that_is_wrong_begins_no_session(
    issuer: LocalIssuer, browser: httpx.Client, changes: dict[str, object], words: str
) -> None:
    issuer.changes = changes

    ended = log_in(browser)

    assert (ended.status_code, words in ended.text) == (401, True), ended.text
    assert "evenhand_session" not in browser.cookies


def test_a_forged_id_token_begins_no_session(issuer: LocalIssuer, browser: httpx.Client) -> None:
    right = issuer.claims(aud=CLIENT, nonce="x")
    none = sign(right).split(".")
    for forged in (sign(right, "another"), sign(right, "another", kid="first"), f"eyJhbGciOiJub25lIn0.{none[1]}.", "", "a.b.c"):
        issuer.forged = forged or "-"
        assert log_in(browser).status_code == 401
    assert make_key("first")


def test_what_the_issuer_says_in_an_address_is_not_shown(issuer: LocalIssuer, browser: httpx.Client) -> None:
    refused = browser.get(begin(browser).split("code=")[0] + "error=access_denied&error_description=<b>call+0900</b>&state=x")
    of_another = browser.get(begin(browser).replace("iss=http%3A%2F%2F127", "iss=http%3A%2F%2F128"))

    assert refused.status_code == 401
    assert "0900" not in refused.text
    assert (of_another.status_code, "another issuer" in of_another.text) == (401, True)
    assert issuer.url


def test_claims_decide_on_role_and_deployment_at_each_log_in(issuer: LocalIssuer, browser: httpx.Client) -> None:
    issuer.subject = {"sub": "0002", "preferred_username": "grace", "groups": ["credit"]}
    log_in(browser)
    bound = browser.get("/v1/me").json()
    other = browser.get("/v1/deployments/other").status_code
    issuer.subject["groups"] = ["admins"]
    log_in(browser)
    admin = browser.get("/v1/me").json()

    assert (bound["role"], bound["deployment_id"], other) == ("manage", "credit-risk", 404)
    assert (admin["actor"], admin["role"], admin["deployment_id"]) == ("user:grace", "admin", None)


@pytest.mark.parametrize("groups", [[], ["gone"], ["unknown"]])
def test_a_person_without_a_role_gets_no_session_and_loses_those_there_were(
    service: RunningService, issuer: LocalIssuer, browser: httpx.Client, groups: list[str]
) -> None:
    issuer.subject = {"sub": f"left-{groups}", "preferred_username": "left", "groups": ["readers"]}
    log_in(browser)
    token = browser.cookies["evenhand_session"]
    issuer.subject["groups"] = groups
    refused = log_in(browser)

    with service.database.transaction() as session:
        hashed = session.scalar(text("SELECT count(*) FROM sessions WHERE token_hash = :hash"), {"hash": hash_token(token)})

    assert refused.status_code == 403
    assert hashed == 0


def test_nobody_gets_the_name_of_another(service: RunningService, issuer: LocalIssuer, browser: httpx.Client) -> None:
    sent = {"name": "root", "password": "four plain words here", "role": "admin"}
    service.client.post("/v1/users", json=sent).raise_for_status()
    issuer.subject = {"sub": "evil", "preferred_username": "Root", "groups": ["auditors"]}
    log_in(browser)
    me = browser.get("/v1/me").json()
    issuer.subject = {"sub": "evil-2", "preferred_username": "Root", "groups": ["auditors"]}
    log_in(browser)
    second = browser.get("/v1/me").json()

    assert me["actor"].startswith("user:root-")
    assert me["role"] == "aggregates"
    assert second["actor"] not in {me["actor"], "user:root"}


def test_an_admin_locks_out_a_person_of_the_issuer_and_changes_neither_password_nor_role(
    service: RunningService, issuer: LocalIssuer, browser: httpx.Client
) -> None:
    issuer.subject = {"sub": "0009", "preferred_username": "mallory", "groups": ["readers"]}
    log_in(browser)
    changed = [service.client.patch("/v1/users/mallory", json=body) for body in ({"role": "admin"}, {"password": "four plain words here"})]
    service.client.patch("/v1/users/mallory", json={"disabled": True}).raise_for_status()
    with_password = browser.post("/login", data={"name": "mallory", "password": "four plain words here"})

    assert [answer.status_code for answer in changed] == [422, 422]
    assert "comes from the issuer" in changed[0].text
    assert with_password.status_code == 401
    assert log_in(browser).status_code == 401
    assert service.client.get("/v1/me", headers=issuer.bearer()).status_code == 401


def test_bearer_tokens_have_the_roles_of_the_same_rules(service: RunningService, issuer: LocalIssuer) -> None:
    issuer.subject = {"sub": "svc", "preferred_username": "service-account-scorer", "realm_access": {"roles": ["scorer"]}}
    ingest = service.client.get("/v1/me", headers=issuer.bearer()).json()
    refused = service.client.get("/v1/deployments", headers=issuer.bearer()).status_code
    bound = service.client.get("/v1/me", headers=issuer.bearer(groups=["credit"], realm_access={})).json()

    assert (ingest["actor"], ingest["role"], refused) == ("user:service-account-scorer", "ingest", 403)
    assert (bound["role"], bound["deployment_id"]) == ("manage", "credit-risk")


@pytest.mark.parametrize(
    "changes", [{"aud": CLIENT}, {"aud": "another"}, {"iss": "https://evil.example"}, {"exp": 1_700_000_000}, {"typ": "ID"}, {"sub": ""}]
)
def test_a_bearer_token_that_is_wrong_is_refused(service: RunningService, issuer: LocalIssuer, changes: dict[str, object]) -> None:
    for path in ("/v1/me", "/settings", "/v1/deployments/credit-risk/predictions"):
        answer = service.client.request("POST" if path.endswith("predictions") else "GET", path, headers=issuer.bearer(**changes))
        assert answer.status_code == 401, path
    assert AUDIENCE != CLIENT


def test_unsigned_and_unknown_bearer_tokens_are_refused_and_a_new_key_is_found(
    service: RunningService, issuer: LocalIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = sign(issuer.claims()).split(".")
    unsigned = f"eyJhbGciOiJub25lIn0.{head[1]}."
    before = issuer.fetches
    answers = [
        service.client.get("/v1/me", headers={"Authorization": f"Bearer {sent}"}).status_code
        for sent in (unsigned, *(sign(issuer.claims(), "another", kid=f"made up {no}") for no in range(20)))
    ]
    fetches = issuer.fetches - before
    monkeypatch.setattr(issuers, "MIN_PAUSE_SECONDS", 0.0)
    issuer.published, issuer.signing_key = ["second"], "second"
    rotated = service.client.get("/v1/me", headers=issuer.bearer())
    issuer.published, issuer.signing_key = ["first"], "first"
    back = service.client.get("/v1/me", headers=issuer.bearer(jti="another token"))

    assert set(answers) == {401}
    assert fetches <= 2
    assert (rotated.status_code, back.status_code) == (200, 200)


def test_logging_out_everywhere_ends_every_session_and_offers_the_issuers_log_out(service: RunningService, issuer: LocalIssuer) -> None:
    issuer.subject = {"sub": "0005", "preferred_username": "joan", "groups": ["readers"]}
    with service.new_client(headers=HTML) as one, service.new_client(headers=HTML) as two:
        log_in(one)
        log_in(two)
        left = one.post("/logout", data={"everywhere": "true"})
    address = left.text.partition(f'href="{issuer.url}/logout?')[2].partition('"')[0].replace("&amp;", "&")
    sent = parse_qs(address)
    with service.database.transaction() as session:
        sessions = session.scalar(text("SELECT count(*) FROM sessions JOIN users ON users.no = user_no WHERE name = 'joan'"))
        noted = session.execute(
            text("SELECT details FROM audit_events WHERE actor = 'user:joan' AND action = 'session.ended'")
        ).scalar_one()

    assert left.status_code == 200
    assert sessions == 0
    assert noted["other_sessions"] == 1
    assert sent["post_logout_redirect_uri"] == ["http://localhost:8000/login"]
    assert sent["client_id"] == [CLIENT]
    assert sent["id_token_hint"][0].count(".") == 2


def test_the_issuers_token_is_stored_encrypted_only(service: RunningService, issuer: LocalIssuer, browser: httpx.Client) -> None:
    log_in(browser)
    with service.database.transaction() as session:
        stored = session.execute(text("SELECT id_token FROM sessions WHERE id_token IS NOT NULL")).scalars().all()

    assert stored
    assert not any(b"eyJ" in bytes(one) for one in stored)
    assert issuer.url


@pytest.mark.thorough
def test_a_log_in_needs_no_memory_and_no_row_until_the_issuer_has_answered(service: RunningService, issuer: LocalIssuer) -> None:
    count = text("SELECT (SELECT count(*) FROM used_log_ins) + (SELECT count(*) FROM users) + (SELECT count(*) FROM sessions)")
    with service.database.transaction() as session:
        before = session.scalar(count)
    with service.new_client(headers=HTML) as stranger:
        for _ in range(50):
            stranger.get("/login/oidc")
            stranger.get("/login/oidc/callback?code=x&state=y")
    with service.database.transaction() as session:
        after = session.scalar(count)

    assert after == before
    assert issuer.codes == {}


def test_without_an_issuer_the_addresses_are_not_there(database: Database, tmp_path: Path) -> None:
    with running_service(database, tmp_path) as service, service.new_client(headers=HTML) as browser:
        assert "/login/oidc" not in browser.get("/login").text
        assert browser.get("/login/oidc").status_code == 404
        assert browser.get("/login/oidc/callback?code=x&state=y").status_code == 404
        assert browser.get("/v1/me", headers={"Authorization": f"Bearer {sign({'sub': 'x'})}"}).status_code == 401
