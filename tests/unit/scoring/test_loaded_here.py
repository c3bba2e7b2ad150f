"""A model that an executor loads: once for each check, from a folder that is looked at before."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from app.base.errors import EndpointRefused
from app.calls.model_uris import check_files
from app.calls.scoring import loaded_model
from app.calls.scoring.loaded_model import InProcessModel
from app.calls.scoring.model_process import PageAnswer


class Loading:
    """Stands for loading and asking, and notes what was loaded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loaded: list[str] = []
        self.looked_at = 0

        monkeypatch.setattr(loaded_model, "load_model", self.loaded.append)
        monkeypatch.setattr(loaded_model, "check_files", self._check)
        monkeypatch.setattr(loaded_model, "answer_page", lambda *_: PageAnswer(200, b"{}"))

    def _check(self, uri: str, prefixes: Sequence[str]) -> str:
        self.looked_at += 1
        return check_files(uri, prefixes)


def ask(model: InProcessModel) -> int:
    return asyncio.run(model.handle_async_request(httpx.Request("POST", "http://loaded.invalid/", content=b"{}"))).status_code


def test_pages_of_one_check_load_the_model_and_look_at_its_files_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loading = Loading(monkeypatch)
    pieces = [InProcessModel(str(tmp_path), [str(tmp_path)], "first check") for _ in range(2)]

    assert [ask(piece) for piece in pieces for _ in range(3)] == [200] * 6
    assert (loading.loaded, loading.looked_at) == ([str(tmp_path)], 1)
    ask(InProcessModel(str(tmp_path), [str(tmp_path)], "second check"))
    assert loading.looked_at == len(loading.loaded) == 2


def test_a_link_out_of_the_allowed_folders_is_refused_at_every_page_and_nothing_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading = Loading(monkeypatch)
    (tmp_path / "link").symlink_to("/etc/hostname")
    model = InProcessModel(str(tmp_path), [str(tmp_path)], "a check")

    for _ in range(2):
        with pytest.raises(EndpointRefused, match="holds the link link, which leads out"):
            ask(model)
    assert loading.loaded == []
