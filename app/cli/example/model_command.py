"""`evenhand example-model`."""

import socket
import threading
from typing import Annotated

import typer

from ...base.errors import SetupError
from ..database import build_stop_signal
from .model_http import ModelServer
from .small_model import answer_request

HOST = "127.0.0.1"

command = typer.Typer(add_completion=False)


@command.command(name="example-model")
def example_model(
    *,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port to listen on. Only this machine can reach it.")
    ] = 9000,
) -> None:
    """Run the small model of the how-to pages. It approves every man, but only rich women. Ctrl-C stops
    it.
    """
    stop = build_stop_signal()
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        raise SetupError(
            f"Cannot listen on {HOST}:{port}: {error.strerror}. Choose another port with --port."
        ) from error
    with ModelServer(listener, answer_request) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        typer.echo(
            f"The model listens on http://{HOST}:{port} (/score, and /invocations as MLflow does). Ctrl-C "
            "stops it."
        )
        stop.wait()
        server.shutdown()
        thread.join()
