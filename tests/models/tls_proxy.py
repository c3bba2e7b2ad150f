"""A proxy that ends TLS in front of a server on loopback, as one stands in front of a service that speaks HTTP only."""

import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509

from tests.models.certificates import write_certificate

CERTIFICATE = "proxy.pem"
"""File of the proxy's certificate, in the folder that it is given."""


@contextmanager
def tls_in_front(port: int, folder: Path) -> Iterator[str]:
    """The address that speaks TLS and passes everything on to that port of 127.0.0.1, until the block ends."""
    certificate = write_certificate(folder / CERTIFICATE, "127.0.0.1", x509.IPAddress(ip_address("127.0.0.1")))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with (
                suppress(OSError),
                context.wrap_socket(self.request, server_side=True) as outside,
                socket.create_connection(("127.0.0.1", port)) as inside,
            ):
                answers = threading.Thread(target=_pass_on, args=(inside, outside))
                answers.start()
                _pass_on(outside, inside)
                answers.join()

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.block_on_close = True, False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
