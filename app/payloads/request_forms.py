"""The protocol of a form: one way to write a request and its answer."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

from ..base.frozen import frozen
from .row_shapes import Table
from .schema_parts import Schema
from .wire import Rows


@frozen
class Tables:
    """Rows under column names. Meta fields are in `meta`, or among the columns."""

    table: Table
    meta: Table | None = None


@frozen
class Objects:
    """Rows as objects, unchecked. `path` is their place in the request."""

    path: str
    rows: list[Any]


AskedRows: TypeAlias = Tables | Objects
"""Values as decoded: unchecked, possibly None."""


class Form(ABC):
    """One way to write a request, recognised by `member`, and its answer."""

    name: ClassVar[str]
    """Key among the examples of the OpenAPI document."""

    title: ClassVar[str]

    answer_name: ClassVar[str]
    """Forms that are answered alike share it."""

    answer_title: ClassVar[str]

    member: ClassVar[str]

    shape: ClassVar[str]
    """The form as messages name it."""

    is_bare: ClassVar[bool] = False
    """True if the rows lie in the body itself."""

    @abstractmethod
    def write_request(self, columns: Sequence[str], rows: Rows) -> dict[str, Any]: ...

    @abstractmethod
    def read_request(self, sent: dict[str, Any]) -> AskedRows: ...

    @abstractmethod
    def write_answer(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]: ...

    @abstractmethod
    def request_schema(self, max_rows: int) -> Schema: ...

    @abstractmethod
    def answer_schema(self) -> dict[str, Schema]:
        """Returns the JSON schema of each member of an answer; arrays in all forms."""
