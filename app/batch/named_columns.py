"""Names of a table's columns as a deployment spells them: some databases store names in upper case that people write in lower case."""

from collections.abc import Iterable, Mapping

from ..errors import InvalidInput


def stored_name(names: Iterable[str], wanted: str) -> str | None:
    """Returns the name that is wanted, or the only one that differs from it by upper and lower case; None without one."""
    known = list(names)
    if wanted in known:
        return wanted
    alike = [name for name in known if name.casefold() == wanted.casefold()]
    return alike[0] if len(alike) == 1 else None


def require_names(names: Mapping[str, str], stored: Iterable[str], field: str, location: str) -> None:
    """Returns if there is a stored column for each of `names`, by what they are for.

    Raises:
        InvalidInput: one is missing.
    """
    known = list(stored)
    for part, name in names.items():
        if stored_name(known, name) is None:
            raise InvalidInput.of(f"{field}.columns.{part}", f"the table at {location} has no column {name!r}")
