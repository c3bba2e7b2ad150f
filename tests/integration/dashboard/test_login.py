from datetime import UTC, datetime, timedelta

import httpx
import pytest
from sqlalchemy import func, select, update

from app.access.principals import Role
from app.access.throttle import MAX_FAILURES_OF_NAME
from app.access.users.user_rules import create_user, update_user
from app.database.tables import SessionRow
from tests.service import RunningService

PAGE = {"Accept": "text/html"}
PASSWORD = "four plain words here"  # noqa: S105 - of a user that the tests make


def _add_user(service: RunningService, name: str = "ada", role: Role = Role.READ) -> None:
    with service.database.transaction() as session:
        create_user(session, name, password=PASSWORD, role=role)


def test_a_person_who_is_not_logged_in_is_led_to_the_form_and_back(service: RunningService, browser: httpx.Client) -> None:
    led = browser.get("/alerts?state=open")
    form = browser.get(led.headers["location"])
    done = browser.post("/login", data={"key": service.admin_key, "next": "/alerts?state=open"})

    assert (led.status_code, led.headers["location"]) == (303, "/login?next=%2Falerts%3Fstate%3Dopen")
    assert 'value="/alerts?state=open"' in form.text
    assert (done.status_code, done.headers["location"]) == (303, "/alerts?state=open")


def test_a_report_that_a_browser_opens_after_the_session_leads_to_the_form_and_back(browser: httpx.Client) -> None:
    report, opened = "/v1/deployments/a-model/report.html?annex=true", {**PAGE, "Sec-Fetch-Mode": "navigate"}
    led = browser.get(report, headers=opened)
    form = browser.get(led.headers["location"])

    assert (led.status_code, led.headers["location"]) == (303, "/login?next=%2Fv1%2Fdeployments%2Fa-model%2Freport.html%3Fannex%3Dtrue")
    assert f'value="{report}"' in form.text
    assert browser.get("/v1/deployments/a-model/attributions/x", headers=opened).status_code == 303


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/v1/deployments/a-model/report.html", PAGE),
        ("/v1/deployments/a-model/report.html", {"Sec-Fetch-Mode": "cors", **PAGE}),
        ("/v1/deployments/a-model/report.html", {"Sec-Fetch-Mode": "navigate", "Authorization": "Bearer wrong", **PAGE}),
        # A browser would keep the form as the file.
        ("/v1/deployments/a-model/report.pdf", {"Sec-Fetch-Mode": "navigate", **PAGE}),
        ("/v1/deployments/a-model/measurements.csv", {"Sec-Fetch-Mode": "navigate", **PAGE}),
    ],
)
def test_programs_scripts_and_downloads_are_not_led_to_the_form(browser: httpx.Client, path: str, headers: dict[str, str]) -> None:
    answer = browser.get(path, headers=headers)

    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"


def test_whose_session_has_ended_is_told_so_and_led_back(service: RunningService, browser: httpx.Client) -> None:
    browser.post("/login", data={"key": service.admin_key})
    with service.database.transaction() as session:
        session.execute(update(SessionRow).values(expires_at=datetime(2020, 1, 1, tzinfo=UTC)))
    led = browser.get("/activity?actor=x")
    form = browser.get(led.headers["location"])

    assert led.headers["location"] == "/login?next=%2Factivity%3Factor%3Dx&ended=true"
    assert "Your session has ended." in form.text
    assert 'value="/activity?actor=x"' in form.text


def test_a_program_is_told_in_its_own_words_that_it_needs_a_key(service: RunningService) -> None:
    answer = httpx.get(service.base_url + "/alerts")

    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")


def test_a_user_logs_in_with_a_password_reads_through_the_api_and_logs_out(service: RunningService, browser: httpx.Client) -> None:
    _add_user(service)

    answer = browser.post("/login", data={"name": "ada", "password": PASSWORD})
    cookie = answer.headers["set-cookie"]
    inside = browser.get("/v1/deployments").status_code
    out = browser.post("/logout")

    assert all(word in cookie for word in ("HttpOnly", "SameSite=lax", "Path=/"))
    assert inside == 200
    assert (out.status_code, out.headers["location"]) == (303, "/login")
    browser.cookies.set("evenhand_session", cookie.partition("=")[2].partition(";")[0])
    assert browser.get("/v1/deployments").status_code == 401


@pytest.mark.parametrize(
    "sent",
    [
        {"name": "ada", "password": "wrong wrong wrong"},
        {"name": "nobody", "password": PASSWORD},
        {"key": "evk_aaaaaaaa_" + "x" * 43},
        {"key": "nonsense"},
        {},
    ],
)
def test_a_wrong_password_or_key_shows_the_form_again_with_the_same_words_for_all(
    service: RunningService, browser: httpx.Client, sent: dict[str, str]
) -> None:
    _add_user(service)

    answer = browser.post("/login", data=sent)

    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert ("do not go together" in answer.text) is ("key" not in sent)
    assert PASSWORD not in answer.text


def test_a_key_for_logging_cannot_log_in(service: RunningService, browser: httpx.Client) -> None:
    answer = browser.post("/login", data={"key": service.key(Role.INGEST)})

    assert answer.status_code == 403
    assert "for logging records only" in answer.text


def test_the_log_in_never_leads_to_another_host(service: RunningService, browser: httpx.Client, subtests: pytest.Subtests) -> None:
    for target in (
        "https://evil.example/",
        "//evil.example/",
        "///evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        " //evil.example",
        "\u00a0//evil.example",
        "https:/evil.example",
        "evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "/" + "x" * 4_000,
        "",
    ):
        with subtests.test(target=target):
            answer = browser.post("/login", data={"key": service.admin_key, "next": target})

            assert answer.headers["location"] == "/"
            assert 'name="next" value="/"' in browser.get("/login", params={"next": target}).text


def test_too_many_failures_make_the_next_try_wait_even_with_the_right_password(service: RunningService, browser: httpx.Client) -> None:
    _add_user(service)
    for _ in range(MAX_FAILURES_OF_NAME):
        browser.post("/login", data={"name": "ada", "password": "wrong wrong wrong"})

    answer = browser.post("/login", data={"name": "ada", "password": PASSWORD})

    assert answer.status_code == 429
    assert "Try again in 5 minutes" in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {},
    ],
)
def test_a_session_changes_nothing_for_a_page_that_is_not_ours(
    service: RunningService, browser: httpx.Client, headers: dict[str, str]
) -> None:
    browser.post("/login", data={"key": service.admin_key})
    with service.new_client(cookies=browser.cookies) as stranger:
        created = stranger.post("/v1/api-keys", json={"name": "x", "role": "admin"}, headers=headers)
        logged_out = stranger.post("/logout", headers=headers)
        logged_in = stranger.post("/login", data={"key": service.admin_key}, headers=headers)

    assert [created.status_code, logged_out.status_code, logged_in.status_code] == [403, 403, 403]
    assert browser.get("/v1/deployments").status_code == 200


def test_a_session_changes_what_its_role_may_from_a_page_of_ours(service: RunningService, browser: httpx.Client) -> None:
    _add_user(service, role=Role.READ)
    browser.post("/login", data={"name": "ada", "password": PASSWORD})

    refused = browser.post("/v1/deployments", json={"name": "x"})

    assert refused.status_code == 403
    assert "The user ada has the role read" in refused.json()["detail"]


@pytest.mark.parametrize("end", ["disabled", "password", "expired", "key revoked"])
def test_a_session_ends_with_whatever_it_stands_on(service: RunningService, browser: httpx.Client, end: str) -> None:
    _add_user(service)
    key = service.key(Role.READ)
    who = {"key": key} if end == "key revoked" else {"name": "ada", "password": PASSWORD}
    browser.post("/login", data=who)

    with service.database.transaction() as session:
        if end == "disabled":
            update_user(session, "ada", by="test", disabled=True)
        elif end == "password":
            update_user(session, "ada", by="test", password=f"{PASSWORD} again")
        elif end == "expired":
            session.execute(update(SessionRow).values(expires_at=datetime.now(UTC) - timedelta(seconds=1)))
    if end == "key revoked":
        service.client.delete(f"/v1/api-keys/{key[4:12]}")

    assert browser.get("/v1/deployments").status_code == 401


def test_only_a_hash_of_the_session_is_stored_and_sessions_that_are_over_are_forgotten(
    service: RunningService, browser: httpx.Client
) -> None:
    token = browser.post("/login", data={"key": service.admin_key}).cookies["evenhand_session"]
    with service.database.transaction() as session:
        stored = session.scalars(select(SessionRow.token_hash)).one()
        session.execute(update(SessionRow).values(expires_at=datetime.now(UTC) - timedelta(seconds=1)))

    browser.post("/login", data={"key": service.admin_key})

    assert token.encode() not in stored
    with service.database.transaction() as session:
        assert session.scalar(select(func.count()).select_from(SessionRow)) == 1


def test_a_page_that_does_not_exist_says_so_as_a_page_and_loads_nothing_from_elsewhere(
    service: RunningService, browser: httpx.Client
) -> None:
    browser.post("/login", data={"key": service.admin_key})

    answer = browser.get("/no/such/<page>")

    assert answer.status_code == 404
    assert "There is nothing at /no/such/&lt;page&gt;." in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "http" not in answer.text.replace("http-equiv", "")


def test_the_files_of_the_pages_are_open_and_kept_under_an_address_of_their_content(service: RunningService) -> None:
    page = httpx.get(service.base_url + "/login", headers=PAGE).text
    address = page.partition('rel="stylesheet" href="')[2].partition('"')[0]

    answer = httpx.get(service.base_url + address)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "immutable" in answer.headers["cache-control"]
    assert httpx.get(service.base_url + "/assets/000000000000/style.css").status_code == 404
    assert httpx.get(service.base_url + "/assets/000000000000/..%2Fpages.py").status_code == 404
