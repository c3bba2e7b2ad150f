import os
from pathlib import Path

import pytest

from app.base.errors import EndpointRefused
from app.calls import model_uris
from app.calls.model_uris import check_files, check_model


@pytest.mark.parametrize("uri", ["models:/credit/3", "models:/credit@champion", "models:/credit"])
@pytest.mark.parametrize("prefix", ["models:/", "models:/credit"])
def test_a_registered_model_is_allowed_by_its_name_or_with_all_others(uri: str, prefix: str) -> None:
    assert check_model(uri, ["/models", prefix]) == uri


@pytest.mark.parametrize(
    "uri",
    [
        "s3://bucket/model",
        "runs:/1/model",
        "models/credit",
        "models:/../credit/1",
        "models:/credit/..",
        "models:/a/b/c",
        "models:/%2e%2e/1",
        "",
    ],
)
def test_a_uri_of_another_form_is_refused_and_says_which_there_are(uri: str) -> None:
    with pytest.raises(EndpointRefused, match="must be models:/NAME/VERSION, models:/NAME@ALIAS, or the whole path"):
        check_model(uri, ["models:/", "/"])


def test_without_the_setting_a_refusal_says_what_to_set() -> None:
    with pytest.raises(EndpointRefused, match=r"no MLflow model may be loaded here.* EVENHAND_MODEL_PREFIXES=models:/credit "):
        check_model("models:/credit/3", [])
    with pytest.raises(EndpointRefused, match="EVENHAND_MODEL_PREFIXES=/srv/models "):
        check_model("/srv/models/credit", [])


def test_a_prefix_is_no_beginning_of_another_name() -> None:
    with pytest.raises(EndpointRefused, match="is not among those that the operator allows"):
        check_model("models:/credit-cards/1", ["models:/credit"])


def test_a_folder_is_allowed_by_where_it_is_and_not_by_how_it_is_spelled(tmp_path: Path) -> None:
    (tmp_path / "models" / "credit").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "models" / "link").symlink_to(tmp_path / "other")
    allowed = [str(tmp_path / "models")]

    assert check_model(f"{tmp_path}/models/x/../credit", allowed) == str(tmp_path / "models" / "credit")
    for path in ("other", "models/../other", "models/link", "models-2"):
        with pytest.raises(EndpointRefused, match="is not within those that the operator allows, or is a link out of them"):
            check_model(f"{tmp_path}/{path}", allowed)


def test_links_within_the_folder_of_a_model_may_not_lead_out_of_those_allowed(tmp_path: Path) -> None:
    model = tmp_path / "models" / "credit"
    (model / "code").mkdir(parents=True)
    (model / "MLmodel").touch()
    (model / "same").symlink_to(model / "MLmodel")
    allowed = [str(tmp_path / "models")]
    assert check_files(str(model), allowed) == str(model)

    (model / "code" / "x.py").symlink_to("/etc/hostname")
    with pytest.raises(EndpointRefused, match=r"holds the link code/x\.py, which leads out"):
        check_files(str(model), allowed)


def test_a_link_to_another_allowed_folder_is_followed_to_the_links_there(tmp_path: Path) -> None:
    model, other = tmp_path / "models" / "credit", tmp_path / "models" / "other"
    for folder in (model, other):
        folder.mkdir(parents=True)
    (model / "parts").symlink_to(other)
    (other / "again").symlink_to(model)
    allowed = [str(tmp_path / "models")]
    assert check_files(str(model), allowed) == str(model)

    (other / "key").symlink_to("/etc/hostname")
    with pytest.raises(EndpointRefused, match="holds the link key, which leads out"):
        check_files(str(model), allowed)


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "credit").mkdir()
    (tmp_path / "credit" / "one").symlink_to(tmp_path / "credit" / "two")
    (tmp_path / "credit" / "two").symlink_to(tmp_path / "credit" / "one")

    with pytest.raises(EndpointRefused, match=r"holds the link (one|two), which leads out"):
        check_files(str(tmp_path / "credit"), [str(tmp_path)])


def test_a_folder_of_many_models_is_refused_before_all_of_it_is_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_uris, "MAX_FILES", 5)
    for no in range(6):
        (tmp_path / f"{no}").touch()

    with pytest.raises(EndpointRefused, match=r"has more than 5 files\. Name the folder of one model"):
        check_files(str(tmp_path), [str(tmp_path)])


def test_what_would_be_read_without_end_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "MLmodel")

    with pytest.raises(EndpointRefused, match="holds MLmodel, which is no file"):
        check_files(str(tmp_path), [str(tmp_path)])


def test_a_folder_that_is_not_there_is_left_to_the_loading(tmp_path: Path) -> None:
    assert check_files(str(tmp_path / "credit"), [str(tmp_path)]) == str(tmp_path / "credit")
