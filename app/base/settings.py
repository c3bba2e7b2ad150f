"""The operator's settings, read once from the environment."""

import os
import platform
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from .apart import MEMORY_BYTES
from .errors import FieldProblem, InvalidInput

Network = IPv4Network | IPv6Network


class SecretFiles(PydanticBaseSettingsSource):
    """Secrets from files: `EVENHAND_SECRET_KEY_FILE` names the file with `EVENHAND_SECRET_KEY`."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        key = str(field.validation_alias or field_name)
        variable = f"{field.validation_alias or f'EVENHAND_{field_name.upper()}'}_FILE"
        file_name = os.environ.get(variable)
        if not file_name:
            return None, key, False
        path = Path(file_name)
        try:
            # Editors and `echo` end a file with a line break.
            text = path.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, ValueError) as error:
            raise InvalidInput(variable, f"names the file {path}, which cannot be read: {error}") from error
        if not text:
            raise InvalidInput(variable, f"names the file {path}, which is empty")
        return text, key, False

    def __call__(self) -> dict[str, Any]:
        secrets = [
            self.get_field_value(field, name)
            for name, field in self.settings_cls.model_fields.items()
            if field.annotation == SecretStr | None
        ]
        return {key: value for value, key, _ in secrets if value is not None}


CHECK_MINUTES = 60

MAX_API_PROCESSES_HERE = 4
"""Default, at most: beyond them, Postgres and the workers need the other cores."""


_SINGLE_PROCESS_SYSTEM = "Darwin"
"""macOS gives all connections of an address to one of the sockets that share it."""


def count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count_api_processes() -> int:
    return (
        1
        if platform.system() == _SINGLE_PROCESS_SYSTEM
        else min(max(count_cores() // 2, 1), MAX_API_PROCESSES_HERE)
    )


class Settings(BaseSettings):
    """The settings of one process, which `docs/operations/settings.md` describes."""

    model_config = SettingsConfigDict(env_prefix="EVENHAND_", frozen=True, extra="ignore")

    database_password: SecretStr | None = Field(default=None, validation_alias="DATABASE_PASSWORD")
    """Verbatim, where the URL holds none."""

    database_url: SecretStr | None = Field(default=None, validation_alias="DATABASE_URL")
    database_replica_url: SecretStr | None = Field(default=None, validation_alias="DATABASE_REPLICA_URL")
    data_dir: Path = Path("data")
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=1, le=65535)
    api_processes: int = Field(default_factory=count_api_processes, ge=1, le=64)
    max_connections: int = Field(default=2000, ge=1, le=1_000_000)
    max_connections_per_address: int = Field(default=500, ge=1, le=1_000_000)
    """An IPv6 /64 counts as one; `trusted_proxies` are exempt."""

    trusted_proxies: str = ""
    """Comma-separated addresses or CIDR blocks whose `X-Forwarded-For` is trusted."""

    request_head_seconds: float = Field(default=10, gt=0, le=3600)
    request_body_seconds: float = Field(default=10, gt=0, le=3600)
    request_body_bytes_per_second: int = Field(default=1000, ge=0, le=1_000_000)
    keep_alive_seconds: int = Field(default=20, ge=1, le=3600)
    """Max seconds without a request. Must exceed the 10 between two questions of the OpenScale SDK."""

    secret_key: SecretStr | None = None
    """Encrypts stored credentials and secrets; one for all processes on a database. None: generated into
    `data_dir`.
    """

    old_secret_keys: SecretStr | None = None
    """Earlier values of `secret_key`, one on a line, which still decrypt. Unused without `secret_key`."""

    endpoint_allowlist: str = ""
    """Comma-separated host names, addresses or CIDR blocks of model endpoints and receivers of alerts.

    Empty: all except link-local and metadata addresses; once `host` is not loopback, only public ones.
    """

    spool_bytes: int = Field(default=2**30, ge=0)
    upload_memory_bytes: int = Field(default=MEMORY_BYTES, ge=2**26)
    worker_concurrency: int = Field(default=4, ge=1, le=64)
    metrics_port: int = Field(default=0, ge=0, le=65535)
    metrics_host: str = "127.0.0.1"
    """Anyone who reaches this address reads the counters, so use a private one."""

    check_minutes: int = Field(default=CHECK_MINUTES, ge=1, le=24 * 60)
    smtp_url: SecretStr | None = None
    smtp_sender: str = ""
    table_roots: str = ""
    answers_dir: Path | None = Field(default=None, validate_default=True)
    model_prefixes: str = ""
    """Comma-separated MLflow models that checks may load, which executes their code: `models:/NAME`,
    `models:/` for all that are registered, or a folder's whole path.
    """

    public_url: str = ""
    oidc_issuer: str = ""
    oidc_client_id: str = ""
    oidc_client_secret: SecretStr | None = None
    """None: a public client, which PKCE protects alone."""

    oidc_audience: str = ""
    oidc_scopes: str = "openid profile email"
    oidc_name_claim: str = "preferred_username"
    oidc_roles: str = ""
    oidc_session_minutes: int = Field(default=480, ge=5, le=24 * 60)
    """A role that was taken away may last this long, because roles are read at the log-in."""

    engine: str = "local"
    spark_url: str = ""
    log_level: str = "INFO"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - of pydantic's signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - of pydantic's signature
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments override variables, which override files: `serve` passes `DATABASE_URL` to children."""
        return init_settings, env_settings, SecretFiles(settings_cls)

    @field_validator("database_url", "database_replica_url")
    @classmethod
    def _add_password(cls, url: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        password = info.data.get("database_password")
        if not url or not password:
            return url
        try:
            parsed = make_url(url.get_secret_value())
        except (ArgumentError, ValueError):  # reported when connecting
            return url
        if parsed.password is not None:
            return url
        # Set by the parser: a password may hold characters that a URL escapes.
        return SecretStr(
            parsed.set(password=password.get_secret_value()).render_as_string(hide_password=False)
        )

    @property
    def accepted_keys(self) -> tuple[str, ...]:
        text = self.old_secret_keys.get_secret_value() if self.old_secret_keys else ""
        return tuple(line.strip() for line in text.splitlines() if line.strip())

    @cached_property
    def exposed_on(self) -> str | None:
        try:
            is_loopback = ip_address(self.host.removeprefix("[").removesuffix("]")).is_loopback
        except ValueError:
            is_loopback = self.host.lower() == "localhost"
        return None if is_loopback else self.host

    @cached_property
    def allowed_endpoints(self) -> tuple[str, ...]:
        return tuple(host.lower() for host in _split_commas(self.endpoint_allowlist))

    @cached_property
    def allowed_models(self) -> tuple[str, ...]:
        return _split_commas(self.model_prefixes)

    @cached_property
    def table_folders(self) -> tuple[Path | str, ...]:
        return tuple(root if "://" in root else Path(root) for root in _split_commas(self.table_roots))

    @cached_property
    def trusted_networks(self) -> tuple[Network, ...]:
        return _parse_networks(self.trusted_proxies)

    @field_validator("api_processes")
    @classmethod
    def _check_processes(cls, value: int) -> int:
        if value > 1 and platform.system() == _SINGLE_PROCESS_SYSTEM:
            raise ValueError(
                "on macOS, one process gets all connections of an address, so there can only be 1"
            )
        return value

    @field_validator("answers_dir")
    @classmethod
    def _check_answers(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        if value is None and "://" in info.data.get("table_roots", ""):
            raise ValueError(
                "must name a folder, because EVENHAND_TABLE_ROOTS has an object store, which Evenhand only "
                "reads"
            )
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _check_proxies(cls, value: str) -> str:
        _parse_networks(value)
        return value


def _parse_networks(text: str) -> tuple[Network, ...]:
    return tuple(ip_network(network, strict=False) for network in _split_commas(text))


def _split_commas(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def load_settings() -> Settings:
    try:
        return Settings()
    except ValidationError as error:
        problems = []
        for item in error.errors():
            name = str(item["loc"][0]) if item["loc"] else "environment"
            problems.append(
                FieldProblem(
                    name if name.startswith("DATABASE_") else f"EVENHAND_{name.upper()}", item["msg"]
                )
            )
        raise InvalidInput(problems) from error
