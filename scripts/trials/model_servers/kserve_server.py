"""Serves both models by KServe's Python server, which speaks v1 and v2: python kserve_server.py FOLDER PORT"""

import sys

from kserve import InferOutput, InferRequest, InferResponse, Model, ModelServer
from scoring import COLUMNS, Scorer


class Credit(Model):
    def __init__(self, kind):
        super().__init__(kind)
        self.scorer = Scorer(sys.argv[1], kind)
        self.ready = True

    def predict(self, payload, headers=None):
        if isinstance(payload, InferRequest):
            frame = payload.as_dataframe()
            rows = frame[COLUMNS].values.tolist() if set(COLUMNS) <= set(frame) else payload.inputs[0].as_numpy().tolist()
            predictions, chances = self.scorer.score(rows)
            kind = "BYTES" if self.name == "mixed" else "INT64"
            outputs = [
                InferOutput("prediction", [len(rows)], kind, data=predictions),
                InferOutput("probability", [len(rows)], "FP64", data=chances),
            ]
            return InferResponse(payload.id, self.name, outputs)
        instances = payload["instances"]
        rows = [[instance[name] for name in COLUMNS] if isinstance(instance, dict) else instance for instance in instances]
        return {"predictions": self.scorer.answer(rows)}


ModelServer(http_port=int(sys.argv[2]), enable_grpc=False, workers=1).start([Credit("whole"), Credit("mixed")])
