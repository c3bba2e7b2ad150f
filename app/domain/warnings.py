"""Warnings of a configuration: nothing forbids what it says, but it is probably not what is meant."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldWarning:
    """One doubtful field: a dotted path such as `attributes[0].monitored[1]`, and what speaks against it and what to do."""

    field: str
    message: str
