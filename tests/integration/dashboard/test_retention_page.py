"""The page of a deployment's retention says what is kept, what is held, and what was erased."""

from datetime import timedelta

import pytest

from app.access.principals import Role
from app.retention.erase import perform_erasures
from tests.builders.bodies import deployment
from tests.service import RunningService

BASE = "/v1/deployments/credit-risk"
PAGE = "/deployments/credit-risk/retention"


@pytest.mark.thorough
def test_the_page_shows_policy_hold_and_receipts_to_readers_and_forms_to_those_who_may(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    reader = service.as_(Role.READ)
    empty = service.client.get(PAGE, headers=reader).raise_for_status().text
    service.client.put(f"{BASE}/retention", json={"preset": "eu", "feedback_months": 1200}).raise_for_status()
    service.client.post(f"{BASE}/erasures", json={"id": "case-1", "record_ids": ["<b>a</b>"]}).raise_for_status()
    perform_erasures(service.database, settled_after=timedelta(0))
    service.client.put(f"{BASE}/legal-hold", json={"reason": "<b>Case 7</b>"}).raise_for_status()
    full = service.client.get(PAGE, headers=reader).raise_for_status().text
    managed = service.client.get(PAGE, headers=service.as_(Role.MANAGE)).raise_for_status().text
    administered = service.client.get(PAGE).raise_for_status().text

    assert "The deployment is not on hold." in empty
    assert "Nothing was erased." in empty
    assert all(words in full for words in ("6 months", "1200 months", "at least 6 months", "case-1", "&lt;b&gt;Case 7&lt;/b&gt;"))
    assert "<b>" not in full
    assert ("data-api" in full, "PUT /v1/deployments/credit-risk/retention" in managed) == (False, True)
    assert ("Release the hold" in managed, "Release the hold" in administered) == (False, True)
    assert "&lt;b&gt;a" not in full
