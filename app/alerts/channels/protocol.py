"""Facts and rules of a kind of channel, which is a module of this folder and a row of `ChannelKind`."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import field
from typing import Any, ClassVar

from ...base.errors import FieldProblem
from ...base.settings import Settings
from ...base.values import character_problem, frozen_by_name
from .notification import Attempt, Delivered, Undelivered

MAX_URL_CHARACTERS = 2000


@frozen_by_name
class ChannelFields:
    """Fields of any channel. `secret` signs messages to a webhook; the `url` of a Slack-compatible one is a
    secret, too.
    """

    name: str
    url: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)
    to: tuple[str, ...] = ()


class ChannelProtocol(ABC):
    """A kind of channel. By default it has one URL, which is a secret.

    `label` and `hint` are words of the form, whose field is `address_field`; `sealed_field` is stored
    encrypted.
    """

    label: str
    hint = ""
    example: ClassVar[dict[str, Any]]
    address_field = "url"
    sealed_field: str | None = "url"

    def find_problems(self, fields: ChannelFields, *, is_new: bool) -> Iterator[FieldProblem]:
        url = fields.url
        problem = None
        if url is not None and len(url) > MAX_URL_CHARACTERS:
            problem = f"must have at most {MAX_URL_CHARACTERS} characters"
        elif url is not None:
            problem = character_problem(url)
        # A secret URL cannot be read back, so a change of the name must not need it.
        elif is_new or self.sealed_field != "url":
            problem = "is required"
        if problem is not None:
            yield FieldProblem("url", problem)
        if fields.to:
            yield FieldProblem("to", "is for e-mail only")
        secret_problem = None if fields.secret is None else self.find_secret_problem(fields.secret)
        if secret_problem is not None:
            yield FieldProblem("secret", secret_problem)

    def find_secret_problem(self, secret: str) -> str | None:  # noqa: ARG002 - of kinds that sign
        return f"is not used by {self.example['kind']}, whose URL is the secret"

    def find_setup_problem(self, settings: Settings) -> str | None:  # noqa: ARG002 - of kinds that need any
        """Says which settings this kind lacks. Raises SetupError if they cannot be read."""
        return None

    def make_secret(self) -> str | None:
        """A new signing secret; None if this kind does not sign."""
        return None

    @abstractmethod
    def send(self, attempt: Attempt) -> Delivered | Undelivered: ...
