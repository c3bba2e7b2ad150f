"""Serves the model over HTTP: `POST /score` takes `{"fields": [...], "values": [[...]]}` and answers in the same form."""

import socket
import sys

from .model import train
from .model_address import OUTPUTS
from .serving import ModelServer


def main() -> None:
    model = train()
    ModelServer(
        socket.socket(fileno=int(sys.argv[1])),
        lambda _path, asked: {"fields": list(OUTPUTS.values()), "values": model.predict(asked["fields"], asked["values"])},
    ).serve_forever()


if __name__ == "__main__":
    main()
