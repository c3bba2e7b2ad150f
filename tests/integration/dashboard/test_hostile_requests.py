"""What nobody's browser sends by itself: odd cookies, forms of other hosts, bodies without end, many tries."""

import base64
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from urllib.parse import quote

import httpx
import pytest

from app.access.gate.caller import MAX_LOG_INS_OF_ADDRESS
from app.access.keys.queries import make_key
from app.access.passwords import MAX_CONCURRENT_HASHES
from app.access.principals import Role
from app.access.throttle import MAX_FAILURES_OF_NAME
from app.access.users.user_rules import create_user, update_user
from app.main import MAX_FORM_BYTES
from tests.service import RunningService

PASSWORD = "four plain words here"  # noqa: S105 - of a user that the tests make
ADA = {"name": "ada", "password": PASSWORD}
WRONG = {"name": "ada", "password": "wrong wrong wrong"}


@pytest.fixture(autouse=True)
def ada(service: RunningService) -> None:
    """A user who may read."""
    with service.database.transaction() as session:
        create_user(session, "ada", password=PASSWORD, role=Role.READ)


@pytest.fixture
def token(service: RunningService, browser: httpx.Client) -> str:
    """What the cookie of a session of an admin holds."""
    return browser.post("/login", data={"key": service.admin_key}).cookies["evenhand_session"]


def test_odd_cookies_of_others_do_not_hide_the_session(service: RunningService, token: str, subtests: pytest.Subtests) -> None:
    for cookies in (
        'theme={{"dark": true}}; evenhand_session={}',
        "a b=c; =; ;; [x]=1; evenhand_session={}",
        'x="never closed; evenhand_session={}',
        "Path=/; Expires=now; evenhand_session={}",
        "evenhand_session=x; evenhand_session={}",
        "evenhand_session={}; evenhand_session=x",
        "\xe9\xff=\x80; evenhand_session={}",
    ):
        with subtests.test(cookies=cookies):
            sent = [(b"Cookie", cookies.format(token).encode("latin-1"))]

            assert httpx.get(service.base_url + "/v1/me", headers=sent).json()["role"] == "admin"


@pytest.mark.parametrize("cookie", ['"' + "\\" * 2_000 + '"', "x" * 10_000, "", '"\\000"'])
def test_what_cannot_be_a_session_is_none(service: RunningService, cookie: str) -> None:
    assert httpx.get(service.base_url + "/v1/me", headers={"Cookie": f"evenhand_session={cookie}"}).status_code == 401


def test_behind_a_proxy_with_tls_the_cookie_is_for_this_host_over_https_only(service: RunningService, browser: httpx.Client) -> None:
    tls = {"X-Forwarded-Proto": "https"}

    cookie = browser.post("/login", data=ADA, headers=tls).headers["set-cookie"]
    token = cookie.partition("=")[2].partition(";")[0]
    inside, planted = (
        httpx.get(service.base_url + "/v1/me", headers=tls | {"Cookie": f"{name}={token}"}).status_code
        for name in ("__Host-evenhand_session", "evenhand_session")
    )

    assert all(word in cookie for word in ("__Host-evenhand_session=", "Secure", "HttpOnly", "Path=/"))
    assert "Domain" not in cookie
    assert (inside, planted) == (200, 401)


def test_pages_let_browsers_tell_us_that_a_form_was_sent_from_here(browser: httpx.Client) -> None:
    # With no-referrer, browsers send `Origin: null` with forms, and over plain HTTP nothing else to tell by.
    assert browser.get("/login").headers["referrer-policy"] == "same-origin"


def test_a_key_typed_into_a_browser_changes_nothing_for_a_page_of_another_host(service: RunningService, subtests: pytest.Subtests) -> None:
    for headers, status in (
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 404),
        ({}, 404),
    ):
        with subtests.test(headers=headers, status=status):
            typed = base64.b64encode(f"x:{service.admin_key}".encode()).decode()

            paths = ("checks", "payload-records", "feedback-records")
            types: tuple[dict[str, str], ...] = ({}, {"Content-Type": "application/json"})
            answers = {
                httpx.post(
                    f"{service.base_url}/v1/deployments/none/{path}",
                    content=b"{}",
                    headers={"Authorization": f"Basic {typed}"} | headers | sent,
                ).status_code
                for path in paths
                for sent in types
                if sent or path != "checks"  # which reads no body of no type
            }

            assert answers == {status}


def test_an_origin_that_is_none_is_refused(service: RunningService, token: str) -> None:
    headers = {"Cookie": f"evenhand_session={token}", "Origin": "http://["}

    assert httpx.post(service.base_url + "/logout", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "sent",
    [{"name": "a\x00b", "password": "x"}, {"name": "ada", "password": "\x00"}, {"key": "evk_\x00"}, {"name": "ADA\u200b", "password": "x"}],
)
def test_a_log_in_with_characters_that_cannot_be_is_wrong_and_no_more(browser: httpx.Client, sent: dict[str, str]) -> None:
    assert browser.post("/login", data=sent).status_code == 401


def test_forms_are_small(browser: httpx.Client) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(MAX_FORM_BYTES // 1024 + 1):
            yield b"&" * 1024

    form = {"Content-Type": "application/x-www-form-urlencoded"}

    announced = browser.post("/login", content=b"&" * (MAX_FORM_BYTES + 1), headers=form)
    unannounced = browser.post("/login", content=endless(), headers=form)
    many_fields = browser.post("/login", content=b"a=&" * 5_000, headers=form)

    assert (announced.status_code, unannounced.status_code, many_fields.status_code) == (413, 413, 400)
    assert "65,536 bytes" in announced.json()["detail"]


def test_a_key_neither_counts_as_a_try_of_a_name_nor_forgets_the_tries(service: RunningService, browser: httpx.Client) -> None:
    for _ in range(MAX_FAILURES_OF_NAME):
        browser.post("/login", data=WRONG)
        browser.post("/login", data={"key": make_key()})

    with_a_key = browser.post("/login", data={"name": "ada", "key": service.key(Role.READ)}).status_code
    then = browser.post("/login", data=ADA).status_code

    assert (with_a_key, then) == (303, 429)


def test_tries_of_one_address_wait_in_a_short_queue_that_keeps_no_other_address_out(
    service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()
    monkeypatch.setattr("app.access.users.browser_sessions.is_password", lambda _password, _stored: not may_go_on.wait())
    taken_on = MAX_CONCURRENT_HASHES + MAX_LOG_INS_OF_ADDRESS

    def log_in(address: str) -> httpx.Response:
        headers = {"Sec-Fetch-Site": "same-origin"}
        with httpx.Client(transport=httpx.HTTPTransport(local_address=address), headers=headers, timeout=None) as client:
            return client.post(service.base_url + "/login", data=WRONG)

    with ThreadPoolExecutor(taken_on + 2) as pool:
        crowd = [pool.submit(log_in, "127.0.0.1") for _ in range(taken_on + 1)]
        refused = next(as_completed(crowd)).result()
        other = pool.submit(log_in, "127.0.0.2")
        may_go_on.set()
        statuses = sorted(one.result().status_code for one in crowd)

    assert "Wait a few seconds" in refused.text
    assert statuses == [401] * taken_on + [503]
    assert other.result().status_code == 401


def test_a_password_that_is_changed_while_it_is_compared_begins_no_session(
    service: RunningService, browser: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed_meanwhile(_password: str, _stored: str | None) -> bool:
        with service.database.transaction() as session:
            update_user(session, "ada", by="test", password=f"{PASSWORD} again")
        return True

    monkeypatch.setattr("app.access.users.browser_sessions.is_password", changed_meanwhile)

    assert browser.post("/login", data=ADA).status_code == 401


def test_the_way_back_is_the_address_as_it_was_sent(browser: httpx.Client) -> None:
    page = "/deployments/x/transactions/a%3Fb%23c?check=%26"

    assert browser.get(page).headers["location"] == f"/login?next={quote(page, safe='')}"
    assert browser.post("/login", data=ADA | {"next": page}).headers["location"] == page
    assert browser.post("/login", data=ADA | {"next": "/" + "x" * 5_000}).headers["location"] == "/"


def test_the_way_back_is_nothing_that_a_browser_may_read_otherwise(browser: httpx.Client, subtests: pytest.Subtests) -> None:
    for target in ("/\t/evil.example", "/\r\nSet-Cookie: a=b", "///evil.example", "/a\\evil.example", " //evil.example", "\u3000//e"):
        with subtests.test(target=target):
            answer = browser.post("/login", data=ADA | {"next": target})

            assert (answer.headers["location"], len(answer.headers.get_list("set-cookie"))) == ("/", 1)
