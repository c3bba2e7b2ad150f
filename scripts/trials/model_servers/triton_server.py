"""Serves both models by Triton itself, through PyTriton: python triton_server.py FOLDER PORT"""

import sys

import numpy as np
from pytriton.decorators import batch
from pytriton.model_config import ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig
from scoring import COLUMNS, Scorer

TYPES = {"whole": [np.int64] * 4, "mixed": [np.bytes_, np.float64, np.int64, np.bool_]}


def served(kind):
    scorer = Scorer(sys.argv[1], kind)

    @batch
    def infer(**tensors):
        columns = [tensors[name][:, 0].tolist() for name in COLUMNS]
        rows = [[cell.decode() if isinstance(cell, bytes) else cell for cell in row] for row in zip(*columns)]
        predictions, chances = scorer.score(rows)
        found = [prediction.encode() for prediction in predictions] if kind == "mixed" else predictions
        return {
            "prediction": np.array(found, dtype=np.bytes_ if kind == "mixed" else np.int64)[:, None],
            "probability": np.array(chances, dtype=np.float64)[:, None],
        }

    return infer


with Triton(config=TritonConfig(http_address="127.0.0.1", http_port=int(sys.argv[2]), allow_grpc=False, allow_metrics=False)) as triton:
    for kind, types in TYPES.items():
        triton.bind(
            model_name=kind,
            infer_func=served(kind),
            inputs=[Tensor(name=name, dtype=dtype, shape=(1,)) for name, dtype in zip(COLUMNS, types)],
            outputs=[
                Tensor(name="prediction", dtype=np.bytes_ if kind == "mixed" else np.int64, shape=(1,)),
                Tensor(name="probability", dtype=np.float64, shape=(1,)),
            ],
            config=ModelConfig(max_batch_size=1000),
        )
    triton.serve()
