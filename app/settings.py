"""What the operator can set, read once from the environment. No rule of the product lives here."""

from functools import cached_property
from pathlib import Path

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.errors import FieldProblem, InvalidInput


class Settings(BaseSettings):
    """The settings of one process. Variables carry the prefix `EVENHAND_`, but for `DATABASE_URL`."""

    model_config = SettingsConfigDict(env_prefix="EVENHAND_", frozen=True, extra="ignore")

    database_url: SecretStr | None = Field(default=None, validation_alias="DATABASE_URL")
    """A Postgres >= 14 of the user's own (`postgresql://…`); absent means the embedded one in `data_dir`."""

    data_dir: Path = Path("data")
    """Holds the embedded database, its log and the generated secret key."""

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=1, le=65535)

    secret_key: SecretStr | None = None
    """Encrypts credentials of endpoints and secrets of alert channels. Absent: generated once into `data_dir`.
    All processes on one database share it."""

    endpoint_allowlist: str = ""
    """Comma-separated host names, addresses or CIDR blocks that model endpoints and receivers of alerts may have; empty allows all but
    link-local and metadata addresses."""

    worker_concurrency: int = Field(default=4, ge=1, le=64)
    """Checks that one worker process runs at the same time (they mostly wait for the model)."""

    smtp_url: SecretStr | None = None
    """The mail server for alerts by e-mail: `smtp://` (STARTTLS) or `smtps://`, with user and password. Absent: no e-mail."""

    smtp_sender: str = ""
    """The e-mail address that alerts come from."""

    log_level: str = "INFO"

    @cached_property
    def allowed_endpoints(self) -> tuple[str, ...]:
        """`endpoint_allowlist` as entries, lower-cased, blanks dropped."""
        return tuple(part.strip().lower() for part in self.endpoint_allowlist.split(",") if part.strip())


def load_settings() -> Settings:
    """The settings from the environment.

    Raises:
        InvalidInput: a variable has a value that cannot be used; the field is the variable's name.
    """
    try:
        return Settings()
    except ValidationError as error:
        raise InvalidInput([_problem(item["loc"], item["msg"]) for item in error.errors()]) from error


def _problem(location: tuple[int | str, ...], message: str) -> FieldProblem:
    name = str(location[0]) if location else "environment"
    return FieldProblem(name if name == "DATABASE_URL" else f"EVENHAND_{name.upper()}", message)
