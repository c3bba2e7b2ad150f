"""The endpoint works through the features that go together with a field that the model does not see."""

from typing import Any

import pytest

from tests.builders.row_server import row_server
from tests.integration.mitigation.live import ADDRESS, applicant, register, words
from tests.service import RunningService

TITLE = {"feature": "title", "monitored": ["Ms"], "reference": ["Mr"]}
TRAINING = "sex,colour,age,income,title,label\n" + "".join(
    f"{sex},green,40,{income},{title},{income // 50_000}\n"
    for sex, title in (("female", "Ms"), ("male", "Mr"))
    for income in (10_000, 60_000) * 10
)


def by_title(service: RunningService, title: str | None) -> dict[str, Any]:
    records = [{"features": applicant(), "meta": {"title": title}}]
    answer = service.client.post(f"{ADDRESS}/mitigated-predictions", json={"records": records})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.nightly
def test_a_record_gets_the_features_of_the_reference_group_in_place_of_a_field_the_model_does_not_see(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, TITLE, meta=[{"name": "title", "type": "string"}])
        plain = by_title(service, "Ms")
        upload = service.client.put(
            f"{ADDRESS}/training-data", params={"label": "label"}, content=TRAINING, headers={"Content-Type": "text/csv"}
        )
        upload.raise_for_status()
        monitor = {"favourable": [1], "unfavourable": [0], "attributes": [TITLE | {"correlated_features": ["sex"]}]}
        service.client.put(f"{ADDRESS}/fairness-monitor", json=monitor).raise_for_status()
        # Another process may go by what held a second ago; this one, after an upload, too.
        through = by_title(service, "Ms")
        while through["profile_version"] == plain["profile_version"]:
            through = by_title(service, "Ms")
        reference = by_title(service, "Mr")

    assert words(plain) == ["undecided"]
    assert words(through) == ["changed"]
    assert through["predictions"][0]["changed_by"] == ["title"]
    assert words(reference) == ["reference"]
