"""A model under FastAPI with the middleware; `EVENHAND_…` says where it logs."""

import os

from evenhand_client import Evenhand, EvenhandMiddleware
from fastapi import FastAPI

app = FastAPI()
app.add_middleware(EvenhandMiddleware, client=Evenhand(), paths=["/invocations"])


@app.post("/invocations")
def score(body: dict) -> dict:
    """Predicts 1 for each row."""
    return {"predictions": [1 for _ in body["inputs"]]}


@app.get("/ready")
def ready() -> dict:
    """Says which process answers."""
    return {"pid": os.getpid()}
