import html
import re
from importlib.resources import files

import httpx

from app.access.principals import Role
from app.pages.terms import TERMS
from app.statistics.catalogue import CATALOGUE
from tests.service import RunningService


def test_the_glossary_explains_every_metric_and_every_word_at_a_place_of_its_own(reader: httpx.Client) -> None:
    places = re.findall(r'id="([^"]+)"', reader.get("/glossary").text)

    assert {term.key for term in TERMS} | {f"metric-{key}" for key in CATALOGUE} <= set(places)
    assert len(places) == len(set(places))


def test_the_help_links_to_the_glossary(reader: httpx.Client) -> None:
    assert 'href="/glossary"' in reader.get("/help").text


def test_activity_names_keys_and_users_as_people_call_them(service: RunningService, browser: httpx.Client) -> None:
    service.client.post("/v1/users", json={"name": "ada", "password": "four plain words here", "role": "admin"})
    browser.post("/login", data={"name": "ada", "password": "four plain words here"})
    made = browser.post("/v1/api-keys", json={"name": "<i>nightly</i> job", "role": "admin"}, headers={"Accept": "application/json"}).json()
    service.client.post("/v1/api-keys", json={"name": "other", "role": Role.READ}, headers={"Authorization": f"Bearer {made['key']}"})

    told = html.unescape(browser.get("/activity").text)

    assert '<a href="?actor=user%3Aada">ada</a>' in told
    assert f'<a href="?actor={made["id"]}"><i>nightly</i> job (key {made["id"]})</a>' in told
    assert "<i>nightly</i>" not in browser.get("/activity").text


def test_every_word_of_the_vocabulary_opens_where_some_page_uses_it() -> None:
    templates = [file.read_text("utf-8") for file in (files("app.pages") / "templates").iterdir()]
    opened = {key for text in templates for key in re.findall(r"\bterm\('([\w-]+)'", text)}

    assert {term.key for term in TERMS} <= opened
    assert opened <= {term.key for term in TERMS} | {"metric-"}


def test_a_word_opens_without_script_and_leads_to_its_place_in_the_glossary(reader: httpx.Client) -> None:
    page = reader.get("/alerts").text
    buttons = re.findall(r'popovertarget="([^"]+)">([^<]+)<', page)

    assert [text for _, text in buttons][:2] == ["Deployments", "stale"]
    assert all(f'id="{place}"' in page for place, _ in buttons)
    assert 'href="/glossary#stale">In the glossary' in page
