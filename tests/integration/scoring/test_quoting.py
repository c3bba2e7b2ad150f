"""The parts of an endpoint's answer that a caller sees."""

import asyncio
import re

import httpx
import pytest

from app.base.errors import ScoringFailed
from app.calls.egress_policy import EgressPolicy
from app.calls.scoring.ask_page import ModelKey, PageScorer
from app.domain.deployment import Endpoint, OutputFields
from app.payloads.codec import HttpMessage
from tests.builders.fake_time import FakeTime

SECRET = 'an internal page says ".hello'  # noqa: S105 - no password


@pytest.mark.parametrize(
    "response", [httpx.Response(404, text=SECRET), httpx.Response(302, text=SECRET, headers={"location": f"/{SECRET[:11]}"})]
)
@pytest.mark.parametrize("quotes", [True, False])
def test_an_answer_is_quoted_only_if_it_may_be(response: httpx.Response, *, quotes: bool) -> None:
    key = ModelKey(Endpoint(url="http://model.example.com/score"), OutputFields(), ())
    policy = EgressPolicy(exposed_on=None if quotes else "model.example.org")
    scorer = PageScorer(key, policy, FakeTime().timing)

    with pytest.raises(ScoringFailed) as found:
        asyncio.run(scorer.ask(httpx.MockTransport(lambda _request: response), HttpMessage(b"{}", []), page=0))

    assert ("internal" in found.value.quoting) is quotes
    assert re.search("answered (404|302)", str(found.value))
    assert "internal page" not in str(found.value)
