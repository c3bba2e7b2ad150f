"""The commands that open the database, and what the fixture `refusal` runs them with."""

from collections.abc import Callable, Mapping

Refusal = Callable[[str, Mapping[str, str]], str]
"""Of a command's name and the variables it is given: the one line that it says on its way out, with status 1."""

PASSWORD = "open-sesame-please"  # noqa: S105 - of nobody

DATABASE_COMMANDS = {
    "serve": ("serve",),
    "worker": ("worker",),
    "migrate": ("migrate",),
    "check": ("check", "credit-risk"),
    "keys create": ("keys", "create", "--role", "admin"),
    "keys list": ("keys", "list"),
    "keys revoke": ("keys", "revoke", "abcdefgh"),
    "keys rotate": ("keys", "rotate", "abcdefgh"),
    "users create": ("users", "create", "ada", "--role", "read"),
    "users list": ("users", "list"),
    "users password": ("users", "password", "ada"),
    "users disable": ("users", "disable", "ada"),
    "users enable": ("users", "enable", "ada"),
    "audit verify": ("audit", "verify"),
    "audit export": ("audit", "export", "new.jsonl"),
    "export payload": ("export", "payload", "--deployment", "credit-risk", "--month", "2026-03", "--output", "new.parquet"),
    "export feedback": ("export", "feedback", "--deployment", "credit-risk", "--month", "2026-03", "--output", "new.parquet"),
    "retention run": ("retention", "run"),
    "retention erase": ("retention", "erase", "credit-risk", "--id", "x", "--record-id", "a"),
    "retention receipt": ("retention", "receipt", "credit-risk", "x"),
    "backup": ("backup", "new.backup"),
    "rotate-secret-key": ("rotate-secret-key",),
    "example": ("example", "--once"),
}
