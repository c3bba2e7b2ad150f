"""Registering and configuring a deployment by its pages, from an empty form to its deletion."""

import json
import random
from pathlib import Path

from playwright.sync_api import expect

from tests.browsing import Visit
from tests.example_run import Example
from tests.models.receiving import Receiver, receiving

RECORD = {
    "checking_status": "no_account",
    "savings": "low",
    "housing": "own",
    "sex": "female",
    "age": 31,
    "employment_years": 4,
    "loan_amount": 4200,
    "loan_duration": 24,
    "postcode": "01234",
}


def test_a_deployment_is_registered_watched_and_deleted_by_its_pages(visit: Visit, example: Example, tmp_path: Path) -> None:
    visit.expected_statuses = {422}  # what a person has typed so far is sent to be checked
    model = example.client.get("/v1/deployments/credit-risk").json()["endpoint"]["url"]

    _register(visit, model)
    _upload_and_accept(visit, _training_file(tmp_path))
    _send_alerts_somewhere(visit, example)
    _change_the_monitor(visit)

    _log_and_check(visit, example)

    page = visit.go("/deployments/by-page/configure/danger")
    page.locator("#x-deployment").fill("by-page")
    page.get_by_role("button", name="Delete the deployment").press("Enter")
    page.wait_for_url(example.base_url + "/")
    assert example.client.delete("/v1/alert-channels/by-page-webhook").status_code == 204


def test_the_form_recommends_what_is_above_chance_and_warns_of_what_is_not(visit: Visit, example: Example) -> None:
    path = _watch_a_meta_field(example)
    page = visit.page
    visit.go("/deployments/proxied/configure/monitor")
    page.get_by_text("Edit the monitor").click()
    page.get_by_text("Correlated features").click()

    district, charge = (page.get_by_role("checkbox", name=name) for name in ("district", "charge"))
    expect(page.get_by_text(", recommended)")).to_have_count(1)
    expect(page.get_by_text(", no stronger than chance)")).to_have_count(1)
    charge.check()
    expect(page.locator("form").get_by_text("charge goes together with group no more strongly").first).to_be_visible()
    page.get_by_role("button", name="Save the monitor").press("Enter")
    expect(page.get_by_text("Saved the fairness monitor.")).to_be_focused()
    expect(page.locator("#monitor p.note").filter(has_text="charge goes together with group no more strongly")).to_have_count(1)
    assert example.client.get(path).json()["attributes"][0]["correlated_features"] == ["charge"]
    visit.settle()
    page.get_by_text("Edit the monitor").click()
    page.get_by_text("Correlated features").click()
    charge.uncheck()
    district.check()
    expect(page.locator("form").get_by_text("charge goes together with group")).to_have_count(0)
    assert (visit.axe_findings(), visit.overflows()) == ([], False)
    page.get_by_role("button", name="Save the monitor").press("Enter")
    expect(page.get_by_text("Saved the fairness monitor.")).to_be_focused()
    example.client.delete("/v1/deployments/proxied").raise_for_status()


def _watch_a_meta_field(example: Example) -> str:
    """A deployment with a feature that speaks of its meta field and one of 90 random values; the address of its monitor."""
    drawn = random.Random(1)
    columns = [{"name": "district", "type": "string"}, {"name": "charge", "type": "string"}]
    body = {
        "id": "proxied",
        "name": "Proxied",
        "problem_type": "binary",
        "features": columns,
        "meta": [{"name": "group", "type": "string"}],
    }
    example.client.post("/v1/deployments", json=body).raise_for_status()
    rows = [
        f"{'north' if drawn.random() < (0.8 if group == 'first' else 0.2) else 'south'},charge {drawn.randrange(90)},{group},Risk"
        for group in 300 * ("first", "second")
    ]
    content = "\n".join(["district,charge,group,decision", *rows])
    path = "/v1/deployments/proxied"
    example.client.put(
        f"{path}/training-data", params={"label": "decision"}, content=content, headers={"Content-Type": "text/csv"}
    ).raise_for_status()
    group = {"feature": "group", "monitored": ["first"], "reference": ["second"]}
    monitor = {"favourable": ["No Risk"], "unfavourable": ["Risk"], "attributes": [group]}
    example.client.put(f"{path}/fairness-monitor", json=monitor).raise_for_status()
    return f"{path}/fairness-monitor"


def _register(visit: Visit, model: str) -> None:
    page = visit.page
    visit.go("/register")
    page.get_by_label("Name", exact=True).fill("By page")
    page.get_by_label("Id, used in addresses").fill("By page")
    expect(page.get_by_text("One field needs a correction.")).to_be_visible()
    page.get_by_label("Id, used in addresses").fill("by-page")
    page.get_by_label("A record as JSON").fill(json.dumps({**RECORD, "Credit_Risk": "No Risk"}))
    page.get_by_role("button", name="Propose columns").press("Enter")
    expect(page.get_by_label("Name of column 1", exact=True)).to_be_focused()
    expect(page.get_by_text("Credit_Risk: named like a label or an answer, so it is not a feature.")).to_be_visible()
    expect(page.get_by_label("Use of column 10")).to_have_value("label")
    page.get_by_role("button", name="Remove column 10").press("Enter")
    page.get_by_label("Use of column 9").select_option("meta")
    page.get_by_label("Probability").fill("probability")
    page.get_by_label("Label: the prediction in words").fill("predictedLabel")
    page.get_by_label("The model has an HTTP endpoint").check()
    page.get_by_label("URL", exact=True).fill(model)
    page.get_by_role("button", name="Test the endpoint").press("Enter")
    expect(page.get_by_text("The model answered about one record")).to_be_visible()
    page.get_by_role("button", name="Add a column").press("Enter")
    page.get_by_role("button", name="Remove column 10").press("Enter")
    expect(page.get_by_label("Name of column 9", exact=True)).to_be_focused()
    assert visit.axe_findings() == []
    page.get_by_role("button", name="Register the deployment").press("Enter")
    page.wait_for_url("**/deployments/by-page/configure")
    expect(page.get_by_role("heading", name="Groups", exact=True)).to_be_visible()
    expect(page.get_by_role("navigation", name="Steps of setting up").locator("[aria-current=step]")).to_contain_text("Groups")


def _training_file(folder: Path) -> Path:
    lines = [
        f"no_account,low,own,{'female' if no % 2 else 'male'},{20 + no % 50},4,4200,24,01234,{'Risk' if no % 3 else 'No Risk'}"
        for no in range(400)
    ]
    file = folder / "training.csv"
    file.write_text("\n".join([",".join([*RECORD, "decision"]), *lines]))
    return file


def _upload_and_accept(visit: Visit, training: Path) -> None:
    page = visit.go("/deployments/by-page/configure?step=data")
    page.get_by_label("File: CSV").set_input_files(training)
    page.get_by_label("Column of the label").fill("decision")
    page.get_by_role("button", name="Upload").press("Enter")
    expect(page.get_by_text("Stored the training data.")).to_be_focused()
    visit.settle()
    expect(page.get_by_label("Watch sex")).to_be_checked()
    page.get_by_role("button", name="Accept the ticked ones").press("Enter")
    expect(page.get_by_text("into the fairness monitor.")).to_be_focused()
    expect(page.get_by_role("heading", name="Persons", exact=True)).to_be_visible()
    page.get_by_label("Whose records are they?").select_option(label="each record is another person: I declare it")
    page.get_by_role("button", name="Save whose records they are").press("Enter")
    expect(page.get_by_text("Saved whose records they are.")).to_be_focused()
    expect(page.get_by_role("heading", name="Endpoint", exact=True)).to_be_visible()
    features = {name: value for name, value in RECORD.items() if name != "postcode"}
    page.get_by_label("Record to ask about").fill(json.dumps([features]))
    page.get_by_role("button", name="Test the endpoint").press("Enter")
    expect(page.get_by_text("The model answered about one record")).to_be_visible()
    visit.go("/deployments/by-page/configure")
    expect(page.get_by_role("heading", name="Alerts", exact=True)).to_be_visible()


def _send_alerts_somewhere(visit: Visit, example: Example) -> None:
    """A channel that its receiver refuses, then corrected: one channel, which every rule names, and a message that arrives."""
    page = visit.page
    with receiving(Receiver(status=400)) as receiver:
        page.get_by_label("Name", exact=True).fill("Team")
        page.get_by_label("URL", exact=True).fill(receiver.url)
        page.get_by_role("button", name="Send alerts there and test it").press("Enter")
        expect(page.get_by_text("The test message was not sent:")).to_be_visible()
        receiver.status = 200
        page.get_by_role("button", name="Send alerts there and test it").press("Enter")
        expect(page.get_by_text("The test message was sent.")).to_be_visible()
        assert len(receiver.received) == 1
    rules = example.client.get("/v1/deployments/by-page/alert-rules").json()["alert_rules"]
    assert [rule["channels"] for rule in rules] == [["by-page-webhook"]] * len(rules)
    assert (visit.axe_findings(), visit.overflows()) == ([], False)
    visit.go("/deployments/by-page/configure")
    expect(page.get_by_role("heading", name="Log", exact=True)).to_be_visible()


def _log_and_check(visit: Visit, example: Example) -> None:
    """The last two steps: a record is tried, the first one is seen to come, and the first check ends."""
    page = visit.go("/deployments/by-page/configure")
    page.evaluate("() => { window.isTheSamePage = true; }")
    page.get_by_role("button", name="Copy").first.press("Enter")
    expect(page.get_by_text("Copied: Log scored records")).to_be_attached()
    expect(page.get_by_text("No record has come yet.")).to_be_visible()
    page.get_by_text("Try a record without storing it").press("Enter")
    page.get_by_role("button", name="Dry run").press("Enter")
    expect(page.get_by_text("Nothing was stored. 1 would be accepted, 0 refused.").last).to_be_visible()
    page.get_by_label("Body, as").fill('{"records": [{"features": {"age": "old"}, "prediction": "No Risk"}]}')
    page.get_by_role("button", name="Dry run").press("Enter")
    expect(page.get_by_text("0 would be accepted, 1 refused.").last).to_be_visible()
    assert (visit.axe_findings(), visit.overflows()) == ([], False)

    features = {name: value for name, value in RECORD.items() if name != "postcode"}
    records = [
        {
            "features": {**features, "sex": "female" if no % 2 else "male", "age": 20 + no % 45},
            "meta": {"postcode": "01234"},
            "prediction": int(no % 3 == 0),
            "probability": 0.5,
            "label": "Risk" if no % 3 == 0 else "No Risk",
        }
        for no in range(400)
    ]
    example.client.post("/v1/deployments/by-page/payload-records", json={"records": records}).raise_for_status()
    expect(page.get_by_text("First record received ✓")).to_be_visible()
    assert page.evaluate("() => window.isTheSamePage === true")
    page.get_by_role("link", name="Go on to the first check").press("Enter")
    page.get_by_role("button", name="Check fairness now").press("Enter")
    page.wait_for_url("**/deployments/by-page/checks/*")
    visit.go("/deployments/by-page/configure")
    expect(page.get_by_role("navigation", name="Parts of Configure").get_by_role("link")).to_have_count(9)
    expect(page.locator(".stepper .done")).to_have_count(7)
    assert (visit.axe_findings(), visit.overflows()) == ([], False)


def _watch_one_side_and_then_both(visit: Visit) -> None:
    page = visit.page
    visit.settle()
    expect(page.get_by_role("button", name="Watch both sides")).to_have_count(0)
    page.get_by_text("Edit the monitor").click()
    visit.settle()
    page.get_by_role("group", name="Attribute 2: age").get_by_label("Highest fair disparate impact").fill("")
    page.get_by_role("button", name="Save the monitor").press("Enter")
    expect(page.get_by_text("Only one side is watched")).to_be_visible()
    page.get_by_role("button", name="Watch both sides: age 0.9 to 1.11111").press("Enter")
    expect(page.locator("#monitor table")).to_contain_text("0.9 to 1.11111")
    expect(page.get_by_text("Only one side is watched")).to_have_count(0)


def _change_the_monitor(visit: Visit) -> None:
    page = visit.go("/deployments/by-page/configure/monitor")
    visit.settle()
    page.get_by_text("Edit the monitor").click()
    visit.settle()
    age = page.get_by_role("group", name="Attribute 2: age")
    age.get_by_label("Lowest fair disparate impact").fill("7")
    expect(age.get_by_text("must be above 0 and at most 1")).to_be_visible()
    age.get_by_label("Lowest fair disparate impact").fill("0.9")
    age.get_by_label("Monitored groups").fill("18 to 25\n61-70.5")
    age.get_by_label("Reference group").fill("26 to 60")
    _misspell_an_outcome(visit)
    page.get_by_role("button", name="Save the monitor").press("Enter")
    expect(page.get_by_text("Saved the fairness monitor.")).to_be_focused()
    expect(page.locator("#monitor table")).to_contain_text("61 to 70.5")
    _watch_one_side_and_then_both(visit)
    visit.settle()
    assert (visit.axe_findings(), visit.overflows()) == ([], False)


def _misspell_an_outcome(visit: Visit) -> None:
    """What nobody has seen is warned of at its field while a person types, and no longer once it is put right."""
    favourable = visit.page.locator("#m-favourable")
    right = favourable.input_value()
    warning = visit.page.locator("#warning-of-m-favourable")
    favourable.fill("No Rsik")
    expect(warning).to_contain_text("'No Rsik' was never seen in the training data; seen there: ")
    expect(warning).to_contain_text("did you mean 'No Risk'?")
    expect(visit.page.get_by_text("Checked: this can be saved, but there are warnings.")).to_be_visible()
    expect(favourable).to_have_attribute("aria-describedby", "how-values warning-of-m-favourable")
    assert visit.axe_findings() == []
    favourable.fill(right)
    expect(warning).to_have_count(0)
