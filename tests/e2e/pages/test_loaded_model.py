"""The configuration of a deployment whose model is an MLflow model that checks load, in a real browser."""

from pathlib import Path

from app.database.engine import Database
from tests.browsing import running_browser, visiting
from tests.builders.bodies import deployment
from tests.service import running_service

PATH = "/v1/deployments/credit-risk"
MODEL = {"source": "mlflow", "uri": "models:/credit/3", "page_size": 500, "concurrency": 2}


def test_the_page_says_that_checks_load_the_model_offers_no_test_and_keeps_it_when_something_else_is_saved(
    database: Database, tmp_path: Path
) -> None:
    table = {"source": "table", "format": "parquet", "location": str(tmp_path / "scores")}
    settings = {"table_roots": str(tmp_path), "model_prefixes": "models:/credit"}
    with running_service(database, tmp_path / "data", **settings) as service:
        created = service.client.post("/v1/deployments", json=deployment(payload=table) | {"endpoint": MODEL})
        assert created.status_code == 201, created.text
        with running_browser() as browser, visiting(browser, service.base_url) as visit:
            visit.log_in(service.admin_key)
            page = visit.go("/deployments/credit-risk/configure/model")
            facts = page.locator("dl.facts").first.inner_text()
            assert page.get_by_role("button", name="Test the endpoint").count() == 0
            page.locator("#edit-model > summary").click()
            assert page.get_by_role("button", name="Test the endpoint").count() == 0
            assert page.get_by_text("The model is the MLflow model models:/credit/3, which checks load.").is_visible()
            page.locator("#d-name").fill("Renamed")
            page.get_by_role("button", name="Save the model and endpoint").click()
            page.get_by_text("Saved the model and endpoint.").wait_for()
            assert visit.axe_findings() == []
            assert visit.faults == []
        stored = service.client.get(PATH).json()

    assert "models:/credit/3, an MLflow model that checks load" in facts
    assert "500 rows in a request, 2 at the same time" in facts
    assert "Credentials" not in facts
    assert stored["name"] == "Renamed"
    assert stored["endpoint"] == created.json()["endpoint"]
