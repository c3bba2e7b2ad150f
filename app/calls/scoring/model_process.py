"""Loads an MLflow model and answers pages in its format: over pipes as a program, or where it is imported.

Started by its file, so it imports nothing of this package, which a model's code does not find.
"""

import json
import os
import queue
import re
import signal
import struct
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

SIZE = struct.Struct(">Q")

HEAD = struct.Struct(">HQ")
"""Head of an answer: status, as over HTTP, and bytes. The first one says whether the model was loaded."""

OK = 200
NOT_TAKEN = 400
NOT_LOADED = 500

_MAX_REASON_CHARACTERS = 500

_MASK = "[redacted]"

_USER_OF_URL = re.compile(r"(?<=://)[^\s/'\"]+(?=@)")

_SECRET_NAME = re.compile("PASSWORD|SECRET|TOKEN|KEY|CREDENTIAL")

_MIN_SECRET_CHARACTERS = 6
"""Shorter values are in ordinary words."""


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """Answer to a page, with a status as over HTTP."""

    status: int
    body: bytes


class ModelNotLoaded(Exception):
    """Raised where a model cannot be loaded; the message says why."""


def load_model(uri: str) -> Any:  # noqa: ANN401 - of a package that few installations have
    """Executes the model's code. Raises ModelNotLoaded."""
    try:
        import mlflow.pyfunc  # noqa: PLC0415 - an extra, and only for this process

        # Not of a new registry that MLflow makes in the process's folder.
        is_named = any(os.environ.get(name) for name in ("MLFLOW_REGISTRY_URI", "MLFLOW_TRACKING_URI"))
        if not uri.startswith("models:/") or is_named or mlflow.get_registry_uri().startswith("databricks"):
            return mlflow.pyfunc.load_model(uri)
    except Exception as error:  # the author's code may raise anything: the check fails and quotes it
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "mlflow":
            reason = (
                "MLflow is not installed. Install it for workers, and for the executors of Spark: pip "
                'install "evenhand[mlflow]".'
            )
        else:
            reason = (
                f"{type(error).__name__}: {hide_secrets(str(error))[:_MAX_REASON_CHARACTERS]}. Load it with "
                "mlflow.pyfunc.load_model in the worker's Python, or the executor's on Spark, and with its "
                "variables: the packages that the model needs must be installed there."
            )
        raise ModelNotLoaded(reason) from error
    raise ModelNotLoaded(
        "MLflow has no registry here. Start workers, or the executors of Spark, with MLFLOW_TRACKING_URI or "
        "MLFLOW_REGISTRY_URI."
    )


def hide_secrets(text: str) -> str:
    text = _USER_OF_URL.sub(_MASK, text)
    secrets = {
        value
        for name, value in os.environ.items()
        if _SECRET_NAME.search(name.upper()) and len(value) >= _MIN_SECRET_CHARACTERS
    }
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, _MASK)
    return text


def answer_page(model: Any, page: bytes) -> PageAnswer:  # noqa: ANN401 - as above
    try:
        (split,) = json.loads(page).values()
        try:
            from mlflow.utils.proto_json_utils import dataframe_from_parsed_json  # noqa: PLC0415 - as in `load_model`
        except ImportError:
            import pandas as pd  # noqa: PLC0415 - a quarter of a second

            frame = pd.DataFrame(split["data"], columns=split["columns"])
        else:
            # The signature's types, which JSON does not say.
            frame = dataframe_from_parsed_json(
                split, pandas_orient="split", schema=model.metadata.get_input_schema()
            )
        predictions = model.predict(frame)
        return PageAnswer(OK, json.dumps({"predictions": _to_json(predictions)}, default=_to_json).encode())
    except MemoryError:  # of the machine, not of the records
        raise
    except Exception as error:  # noqa: BLE001 - predicting runs the author's code, too: as on MLflow's server, any error of it refuses the page
        return PageAnswer(
            NOT_TAKEN, hide_secrets(f"{type(error).__name__}: {error}").encode(errors="replace")
        )


def _to_json(value: Any) -> Any:  # noqa: ANN401 - as above
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        return value.to_dict(orient="records")
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, dict, str, int, float)) or value is None:
        return value
    raise TypeError(f"the model answers {type(value).__name__}, which JSON cannot carry")


def _read_pages(pipe: BinaryIO, pages: "queue.SimpleQueue[bytes]") -> None:
    while True:
        head = pipe.read(SIZE.size)
        page = pipe.read(SIZE.unpack(head)[0]) if len(head) == SIZE.size else b""
        if not page:
            # The worker is gone, and neither its model nor what that started may outlive it.
            os.killpg(0, signal.SIGKILL)
        pages.put(page)


def _write_answer(pipe: BinaryIO, answer: PageAnswer) -> None:
    pipe.write(HEAD.pack(answer.status, len(answer.body)) + answer.body)
    pipe.flush()


def main(uri: str) -> None:
    """Answers pages on standard input. What the model prints is dropped: it may hold people's data."""
    with suppress(OSError):  # where memory runs out, the model ends before its worker and the database
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    null_device = os.open(os.devnull, os.O_RDWR)
    for standard_descriptor in (0, 1, 2):
        os.dup2(null_device, standard_descriptor)
    pages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_pages, args=(requests, pages), daemon=True).start()
    try:
        model = load_model(uri)
    except ModelNotLoaded as error:
        _write_answer(answers, PageAnswer(NOT_LOADED, str(error).encode(errors="replace")))
        return
    _write_answer(answers, PageAnswer(OK, b""))
    while True:
        _write_answer(answers, answer_page(model, pages.get()))


if __name__ == "__main__":
    main(sys.argv[1])
