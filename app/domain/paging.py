"""Part of a list that somebody asks for."""

from ..base.values import frozen


@frozen
class Paging:
    """At most `limit` items after that of the number `after`; 0: from the beginning."""

    limit: int
    after: int = 0
