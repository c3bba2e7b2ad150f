"""A log-in as a body."""

from datetime import datetime

from pydantic import Field

from .base import In, Out, example


class LogInIn(In):
    """A user's name and password."""

    model_config = example({"name": "ada", "password": "correct horse battery staple"})

    name: str = Field(max_length=500, pattern=r"^[^\x00]*$")
    password: str = Field(max_length=500)


class LogInOut(Out):
    """A session."""

    model_config = example({"token": "5f0c7a52Kd0e4a529a530d1f3c2b7e11XyZabcdefgh", "expires_at": "2026-03-01T21:00:00Z"})

    token: str
    """To be sent as `Authorization: Bearer …`."""

    expires_at: datetime
