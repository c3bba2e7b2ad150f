"""Address and answers of the watched model."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

MODEL_SERVER_MODULE = f"{__package__}.model_server"

OUTPUTS = {"prediction": "prediction", "probability": "probability", "label": "predictedLabel"}

PORT_FILE = "example-model.port"


@contextlib.contextmanager
def open_model_listener(folder: Path) -> Iterator[socket.socket]:
    """On the port of the last run if possible: the endpoint is stored."""
    port_file = folder / PORT_FILE
    port = 0
    with contextlib.suppress(OSError, ValueError):
        port = int(port_file.read_text(encoding="ascii"))
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError):
        listener = socket.create_server(("127.0.0.1", 0))
    with listener:
        port_file.write_text(str(listener.getsockname()[1]), encoding="ascii")
        yield listener
