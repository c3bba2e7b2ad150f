"""Serves a model in every payload format by its documented form, also as the reference: python documented.py FOLDER KIND PORT REPOSITORY"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, sys.argv[4])
from scoring import Scorer
from tests.models.speaking import speak

SCORER = Scorer(sys.argv[1], sys.argv[2])


def answer(columns, rows):
    return SCORER.answer(rows, columns)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(speak(self.path.removeprefix("/formats/"), body, answer))

    def do_GET(self):
        self.reply(b"{}")

    def reply(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[3])), Handler).serve_forever()
