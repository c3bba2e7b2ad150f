"""A service of BentoML: `bentoml serve bento_service:Credit`, with the folder of the models in CREDIT_MODELS."""

import os

import bentoml
from scoring import COLUMNS, Scorer


@bentoml.service(workers=1, http={"host": "127.0.0.1"})
class Credit:
    def __init__(self):
        self.scorers = {kind: Scorer(os.environ["CREDIT_MODELS"], kind) for kind in ("whole", "mixed")}

    def answer(self, kind, records):
        return self.scorers[kind].answer([[record[name] for name in COLUMNS] for record in records])

    @bentoml.api(route="/whole")
    def whole(self, records: list[dict]) -> list[dict]:
        return self.answer("whole", records)

    @bentoml.api(route="/mixed")
    def mixed(self, records: list[dict]) -> list[dict]:
        return self.answer("mixed", records)

    @bentoml.api(route="/bare/whole")
    def root_whole(self, records: list[dict], /) -> list[dict]:
        return self.answer("whole", records)

    @bentoml.api(route="/bare/mixed")
    def root_mixed(self, records: list[dict], /) -> list[dict]:
        return self.answer("mixed", records)
