"""Folders of hostile MLflow models: nothing of them runs in this process, an attempt ends in time, and the reason is short text."""

import asyncio
import os
import pickle
from pathlib import Path

import httpx
import pytest

from app.base.errors import EndpointDown, EndpointRefused, ScoringFailed
from app.base.values import character_problem
from app.calls.model_uris import check_files
from app.calls.scoring import loaded_model
from app.calls.scoring.loaded_model import InProcessModel, ModelProcesses
from app.calls.scoring.model_process import ModelNotLoaded
from tests.models.mlflow_stub import put_mlflow_on_path, rule_model

PAGE = b'{"dataframe_split": {"columns": ["sex"], "data": [["male"]]}}'


class Unpickled:
    """Notes the process that unpickles it."""

    def __init__(self, note: Path) -> None:
        self._note = note

    def __reduce__(self) -> tuple[object, ...]:
        return exec, (f"import os\nwith open({str(self._note)!r}, 'w') as note: note.write(str(os.getpid()))",)


WRITES = """
import os, struct

def load_model(folder):
    for file in range(3, 20):
        try:
            os.write(file, struct.pack(">HQ", 500, {size}) + {text})
        except OSError:
            pass
    os._exit(0)
"""
"""Answers in the place of the program that loads the model."""

LOADS = {
    "raises-megabytes": "def load_model(folder):\n    raise RuntimeError('m' * 10_000_000)\n",
    "raises-no-text": "def load_model(folder):\n    raise RuntimeError('a\\0b\\x1b[31m\\ud800')\n",
    "writes-much": WRITES.format(size=60_000, text=b"m" * 60_000),
    "writes-no-text": WRITES.format(size=4, text=b"a\0\xff\x1b"),
    "writes-any-size": WRITES.format(size=2**60, text=b"m"),
    "ends": "import os\n\ndef load_model(folder):\n    os._exit(0)\n",
}


def ask(model: Path) -> None:
    async def send() -> None:
        processes = ModelProcesses(str(model), [str(model.parent)])
        try:
            await processes.handle_async_request(httpx.Request("POST", "http://loaded.invalid/", content=PAGE))
        finally:
            processes.close()

    asyncio.run(send())


def model_that(loads: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    put_mlflow_on_path(folder, monkeypatch)
    (folder / "stub" / "mlflow" / "pyfunc.py").write_text(loads)
    return rule_model(folder / "models" / "rule")


@pytest.mark.parametrize("name", LOADS)
def test_whatever_loading_does_the_reason_is_short_text(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((ScoringFailed, EndpointDown)) as failed:
        ask(model_that(LOADS[name], tmp_path, monkeypatch))

    assert character_problem(str(failed.value)) is None
    assert len(str(failed.value)) < 1500


def test_a_model_is_unpickled_in_a_process_that_runs_out_of_memory_before_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads = (
        "import pickle\n\ndef load_model(folder):\n    pickle.load(open(folder + '/python_model.pkl', 'rb'))\n"
        "    raise RuntimeError('score ' + open('/proc/self/oom_score_adj').read().strip())\n"
    )
    model, note = model_that(loads, tmp_path, monkeypatch), tmp_path / "note"
    (model / "python_model.pkl").write_bytes(pickle.dumps(Unpickled(note)))
    assert check_files(str(model), [str(tmp_path)]) == str(model)
    assert not note.exists()

    with pytest.raises(ScoringFailed, match=r"RuntimeError: score 1000\."):
        ask(model)

    assert int(note.read_text()) != os.getpid()


def test_an_executor_says_the_same_in_short_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_uri: str) -> None:
        raise ModelNotLoaded("a\0b" + "m" * 9000)

    monkeypatch.setattr(loaded_model, "load_model", fail)
    model = InProcessModel(str(tmp_path), [str(tmp_path)], "a check")
    with pytest.raises(ScoringFailed, match=r"cannot be loaded: a\\x00bm") as failed:
        asyncio.run(model.handle_async_request(httpx.Request("POST", "http://loaded.invalid/", content=PAGE)))

    assert len(str(failed.value)) < 2000


@pytest.mark.parametrize("link", ["a\nb", "\x1b[31m", os.fsdecode(b"\xff")])
def test_a_link_of_any_name_is_refused_in_text(link: str, tmp_path: Path) -> None:
    (tmp_path / link).symlink_to("/etc/hostname")

    with pytest.raises(EndpointRefused, match="which leads out") as refused:
        check_files(str(tmp_path), [str(tmp_path)])

    assert character_problem(str(refused.value)) is None


FLAVOUR = "flavors: {python_function: {loader_module: mlflow.pyfunc.model}}\n"

MLMODELS = {
    "aliases": FLAVOUR + "a0: &a0 [x]\n" + "".join(f"a{no}: &a{no} [{', '.join([f'*a{no - 1}'] * 10)}]\n" for no in range(1, 12)),
    "aliases-used": "a0: &a0 [x]\n"
    + "".join(f"a{no}: &a{no} [{', '.join([f'*a{no - 1}'] * 10)}]\n" for no in range(1, 12))
    + "flavors: {python_function: {loader_module: *a11, data: *a11, env: *a11}}\n",
    "deep": FLAVOUR + "x: " + "[" * 100_000,
    "tag": FLAVOUR + "x: !!python/object/apply:os._exit [3]\n",
    "path": FLAVOUR.replace("model}", "model, python_model: ../../../etc/passwd}"),
    "list": "- 1\n",
    "nothing": "",
    "no-text": "\0\1",
}


@pytest.mark.parametrize("name", MLMODELS)
def test_a_hostile_description_of_a_model_fails_in_short_text(name: str, tmp_path: Path) -> None:
    pytest.importorskip("mlflow", reason="MLflow is not installed; scripts/trial spark test runs this")
    (tmp_path / "MLmodel").write_text(MLMODELS[name])

    with pytest.raises(ScoringFailed, match="cannot be loaded") as failed:
        ask(tmp_path)

    assert len(str(failed.value)) < 1500
