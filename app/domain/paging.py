"""Part of a list that somebody asks for."""

from ..base.values import frozen


@frozen
class Paging:
    """At most `limit` items after that of the number `after`, in the order of the list; 0: from its
    beginning.
    """

    limit: int
    after: int = 0
