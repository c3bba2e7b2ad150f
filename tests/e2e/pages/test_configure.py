"""Registering and configuring a deployment by its pages, from an empty form to its deletion."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browsing import Visit
from tests.example_run import Example

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

pytestmark = pytest.mark.timeout(300)  # the first test of a file runs the whole example


def test_a_deployment_is_registered_watched_and_deleted_by_its_pages(visit: Visit, example: Example, tmp_path: Path) -> None:
    visit.expected_statuses = {422}  # what a person has typed so far is sent to be checked
    model = example.client.get("/v1/deployments/credit-risk").json()["endpoint"]["url"]

    _register(visit, model)
    _upload_and_accept(visit, _training_file(tmp_path))
    _change_the_monitor(visit)

    page = visit.page
    page.get_by_role("button", name="Copy").first.press("Enter")
    expect(page.get_by_text("Copied: Log scored records")).to_be_attached()
    page.locator("#x-deployment").fill("by-page")
    page.get_by_role("button", name="Delete the deployment").press("Enter")
    page.wait_for_url(example.base_url + "/")


def _register(visit: Visit, model: str) -> None:
    page = visit.page
    visit.go("/register")
    page.get_by_label("Name", exact=True).fill("By page")
    page.get_by_label("Id, used in addresses").fill("By page")
    expect(page.get_by_text("One field needs a correction.")).to_be_visible()
    page.get_by_label("Id, used in addresses").fill("by-page")
    page.get_by_label("A record as JSON").fill(json.dumps(RECORD))
    page.get_by_role("button", name="Propose columns").press("Enter")
    expect(page.get_by_label("Name of column 1", exact=True)).to_be_focused()
    page.get_by_label("Use of column 9").select_option("meta")
    page.get_by_label("Probability").fill("probability")
    page.get_by_label("Label: the prediction in words").fill("predictedLabel")
    page.get_by_label("The model can be asked by HTTP").check()
    page.get_by_label("URL", exact=True).fill(model)
    page.get_by_role("button", name="Test the endpoint").press("Enter")
    expect(page.get_by_text("The model answered about one record")).to_be_visible()
    page.get_by_role("button", name="Add a column").press("Enter")
    page.get_by_role("button", name="Remove column 10").press("Enter")
    expect(page.get_by_label("Name of column 9", exact=True)).to_be_focused()
    assert visit.serious_findings() == []
    page.get_by_role("button", name="Register the deployment").press("Enter")
    page.wait_for_url("**/deployments/by-page/configure")
    expect(page.get_by_role("heading", name="What comes next")).to_be_visible()


def _training_file(folder: Path) -> Path:
    lines = [
        f"no_account,low,own,{'female' if no % 2 else 'male'},{20 + no % 50},4,4200,24,01234,{'Risk' if no % 3 else 'No Risk'}"
        for no in range(400)
    ]
    file = folder / "training.csv"
    file.write_text("\n".join([",".join([*RECORD, "decision"]), *lines]))
    return file


def _upload_and_accept(visit: Visit, training: Path) -> None:
    page = visit.page
    page.get_by_label("File: CSV").set_input_files(training)
    page.get_by_label("Column of the label").fill("decision")
    page.get_by_role("button", name="Upload").press("Enter")
    expect(page.get_by_text("Stored the training data.")).to_be_focused()
    visit.settle()
    expect(page.get_by_label("Watch sex")).to_be_checked()
    page.get_by_role("button", name="Accept what is ticked").press("Enter")
    expect(page.get_by_text("into the fairness monitor.")).to_be_focused()


def _change_the_monitor(visit: Visit) -> None:
    page = visit.page
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
    visit.settle()
    assert (visit.serious_findings(), visit.overflows()) == ([], False)


def _misspell_an_outcome(visit: Visit) -> None:
    """What nobody has seen is warned of at its field while a person types, and no longer once it is put right."""
    favourable = visit.page.locator("#m-favourable")
    right = favourable.input_value()
    warning = visit.page.locator("#warning-of-m-favourable")
    favourable.fill("No Rsik")
    expect(warning).to_contain_text("'No Rsik' was never seen in the training data; seen there: ")
    expect(warning).to_contain_text("did you mean 'No Risk'?")
    expect(visit.page.get_by_text("Checked: this can be saved, but something speaks against it.")).to_be_visible()
    expect(favourable).to_have_attribute("aria-describedby", "how-values warning-of-m-favourable")
    assert visit.serious_findings() == []
    favourable.fill(right)
    expect(warning).to_have_count(0)
