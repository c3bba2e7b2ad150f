"""The protocol of a form: one way to write a request in a payload format, and its answer."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from .schemas import Schema
from .tables import Table
from .wire import Rows


@dataclass(frozen=True, slots=True)
class Tables:
    """Rows under column names. Meta fields are in a table of their own, or else may be among the columns."""

    table: Table
    meta: Table | None = None


@dataclass(frozen=True, slots=True)
class Objects:
    """Rows as objects of columns and values, which may turn out to be something else. `path` is their place in the request."""

    path: str
    rows: list[Any]


AskedRows: TypeAlias = Tables | Objects
"""The rows of a request, whose values are as decoded: unchecked, possibly None."""


class Form(ABC):
    """One way to write a request, recognised by `member`, and the answer to it. Stateless."""

    name: ClassVar[str]
    """Its key among the examples of the OpenAPI document; `title` is shown there."""

    title: ClassVar[str]

    answer_name: ClassVar[str]
    """The same for its answer; forms that are answered alike share both."""

    answer_title: ClassVar[str]

    member: ClassVar[str]

    shape: ClassVar[str]
    """The form as messages name it."""

    is_bare: ClassVar[bool] = False
    """True if the rows lie in the body itself, not under a member that names their form."""

    @abstractmethod
    def write_request(self, columns: Sequence[str], rows: Rows) -> dict[str, Any]:
        """Writes a request for the rows."""

    @abstractmethod
    def read_request(self, sent: dict[str, Any]) -> AskedRows:
        """Reads a request that has the form's member.

        Raises:
            InvalidInput: it has another shape, or members that the form does not know; the field is a path such as `values[3]`.
        """

    @abstractmethod
    def write_answer(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """Writes the answer to a request of this form: all columns of each row."""

    @abstractmethod
    def request_schema(self, max_rows: int) -> Schema:
        """Returns the JSON schema of a request."""

    @abstractmethod
    def answer_schema(self) -> dict[str, Schema]:
        """Returns the JSON schema of each member of an answer. Where another form has the same members, they are arrays in both."""
