"""The operator's settings, read once from the environment. Rules of the product are elsewhere."""

import os
import platform
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from .errors import FieldProblem, InvalidInput

Network: TypeAlias = IPv4Network | IPv6Network


class SecretFiles(PydanticBaseSettingsSource):
    """Secrets from files: `EVENHAND_SECRET_KEY_FILE` names the file that holds the value of `EVENHAND_SECRET_KEY`.

    A container's secrets arrive this way, so that they are in no environment that other tools show.
    """

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Returns the text of the file, without the end of its last line, or None where no file is named."""
        has_alias = isinstance(field.validation_alias, str)
        key = str(field.validation_alias) if has_alias else field_name
        variable = f"{key}_FILE" if has_alias else f"EVENHAND_{field_name.upper()}_FILE"
        named = os.environ.get(variable)
        if not named:
            return None, key, False
        path = Path(named)
        try:
            # Editors and `echo` end a file with a line break, which is not part of a secret.
            text = path.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, ValueError) as error:
            raise InvalidInput.of(variable, f"names the file {path}, which cannot be read: {error}") from error
        if not text:
            raise InvalidInput.of(variable, f"names the file {path}, which is empty")
        return text, key, False

    def __call__(self) -> dict[str, Any]:
        """Returns the contents of the files, for the secrets that have one."""
        secret = [(name, field) for name, field in self.settings_cls.model_fields.items() if field.annotation == SecretStr | None]
        found = [self.get_field_value(field, name) for name, field in secret]
        return {key: value for value, key, _ in found if value is not None}


CHECK_MINUTES = 60
"""Default minutes that a check may take: after them the next hour's check is due."""

MAX_API_PROCESSES_HERE = 4
"""Most API processes that a machine gets by default: from then on Postgres and the workers need the other cores."""


_ONE_PROCESS = "Darwin"
"""The system that gives all connections of an address to one of the sockets that share it: macOS."""


def api_processes_here() -> int:
    """Returns the default number of API processes on this machine: one for two cores that this process may use, on macOS one."""
    if platform.system() == _ONE_PROCESS:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(max(cores // 2, 1), MAX_API_PROCESSES_HERE)


class Settings(BaseSettings):
    """The settings of one process. Variables carry the prefix `EVENHAND_`, except for those of the database."""

    model_config = SettingsConfigDict(env_prefix="EVENHAND_", frozen=True, extra="ignore")

    database_password: SecretStr | None = Field(default=None, validation_alias="DATABASE_PASSWORD")
    """Password for `database_url`, verbatim, where the URL holds none."""

    database_url: SecretStr | None = Field(default=None, validation_alias="DATABASE_URL")
    """URL of the user's own Postgres >= 14 (`postgresql://…`); absent means the embedded one in `data_dir`."""

    database_replica_url: SecretStr | None = Field(default=None, validation_alias="DATABASE_REPLICA_URL")
    """URL of a streaming replica of `database_url`, from which pages read. Absent: they read from `database_url`."""

    data_dir: Path = Path("data")
    """Folder of the embedded database, its log and the generated secret key."""

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=1, le=65535)

    api_processes: int = Field(default_factory=api_processes_here, ge=1, le=64)
    """Processes of one `evenhand serve` that answer requests, all on the same address."""

    max_connections: int = Field(default=2000, ge=1, le=1_000_000)
    """Max connections that clients may have open with one of the `api_processes`; further ones are answered 503 and closed."""

    max_connections_per_address: int = Field(default=500, ge=1, le=1_000_000)
    """Max open connections of one address (of IPv6, of one /64) with one process. Does not apply to `trusted_proxies`."""

    trusted_proxies: str = ""
    """Comma-separated addresses or CIDR blocks of proxies whose `X-Forwarded-For` is trusted for the client's address."""

    request_head_seconds: float = Field(default=10, gt=0, le=3600)
    """Max seconds for a request's head, from the connection or from the head's first byte."""

    request_body_seconds: float = Field(default=10, gt=0, le=3600)
    """Seconds over which the rate of a request's body is measured."""

    request_body_bytes_per_second: int = Field(default=1000, ge=0, le=1_000_000)
    """Min bytes per second of a body; 0 allows any rate."""

    keep_alive_seconds: int = Field(default=20, ge=1, le=3600)
    """Max seconds that a connection may stay open without a request after an answer.

    More than the 5 and 10 between two questions of the OpenScale SDK, whose next one would meet the end of its connection."""

    secret_key: SecretStr | None = None
    """Encrypts credentials of endpoints and secrets of alert channels. Absent: generated once into `data_dir`.
    All processes on one database share it."""

    old_secret_keys: SecretStr | None = None
    """Keys that open what was encrypted with them, next to `secret_key`: one on a line. Unused without `secret_key`."""

    endpoint_allowlist: str = ""
    """Comma-separated host names, addresses or CIDR blocks that model endpoints and receivers of alerts may have. Empty: all except
    link-local and metadata addresses, and, once `host` is not loopback, only public ones."""

    spool_bytes: int = Field(default=2**30, ge=0)
    """Max bytes of calls through the gateway, and of events, that wait on disk in `data_dir` until the database has them. Beyond it,
    callers still get their answers, and the records are counted as not received."""

    worker_concurrency: int = Field(default=4, ge=1, le=64)
    """Max checks that one worker process computes at the same time. Up to 8 times as many more may wait for their model."""

    metrics_port: int = Field(default=0, ge=0, le=65535)
    """Port at which `evenhand worker` answers `GET /metrics` with its own counters, without a key; 0: it does not listen."""

    metrics_host: str = "127.0.0.1"
    """Address at which a worker listens for that. Anyone who reaches it reads the counters, so use a private one."""

    check_minutes: int = Field(default=CHECK_MINUTES, ge=1, le=24 * 60)
    """Max minutes of a check, including the wait for its model. It then fails and reports its current step."""

    smtp_url: SecretStr | None = None
    """URL of the mail server for e-mail alerts: `smtp://` (STARTTLS) or `smtps://`, with user and password. Absent: no e-mail."""

    smtp_sender: str = ""
    """Sender address of e-mail alerts."""

    table_roots: str = ""
    """Comma-separated folders, and addresses in object stores such as `s3://bank/scores`, in which the tables of batch deployments may
    lie. Empty: there are no batch deployments."""

    answers_dir: Path | None = Field(default=None, validate_default=True)
    """Folder for the model's answers to copies of records in files. Absent: `_evenhand` in the folder of the payload table, which is
    not possible in an object store."""

    model_prefixes: str = ""
    """Comma-separated MLflow models that checks of tables may load, which executes their code: `models:/NAME`, `models:/` for all that are
    registered, or a folder's whole path. Empty: none."""

    public_url: str = ""
    """Address under which people reach the service, such as `https://evenhand.example.com`. Needed for `oidc_issuer`."""

    oidc_issuer: str = ""
    """Address of the issuer of OpenID Connect at which people log in, exactly as its discovery document has it. Empty: no such log-in."""

    oidc_client_id: str = ""
    """This service's id at the issuer."""

    oidc_client_secret: SecretStr | None = None
    """This service's secret at the issuer. Absent: a public client, which PKCE protects alone."""

    oidc_audience: str = ""
    """Audience of the issuer's access tokens that the REST API accepts as bearer tokens. Empty: none are."""

    oidc_scopes: str = "openid profile email"
    """Scopes that are asked for at a log-in."""

    oidc_name_claim: str = "preferred_username"
    """Claim with the name that people are shown under."""

    oidc_roles: str = ""
    """JSON list of rules from claims to roles and deployments (`app/security/oidc/configuration.py`)."""

    oidc_session_minutes: int = Field(default=480, ge=5, le=24 * 60)
    """Minutes of a log-in at the issuer. Roles are read at the log-in, so this is how long a role that was taken away may last."""

    engine: str = "local"
    """Where records in files are counted and their copies sent to the model: `local`, in the worker, or `spark`."""

    spark_url: str = ""
    """Spark Connect server (`sc://host:15002`) or master (`spark://host:7077`, `local[2]`) of the engine `spark`."""

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
        """Arguments override variables, which override files: children of `serve` get `DATABASE_URL` next to the file it may come from."""
        return init_settings, env_settings, SecretFiles(settings_cls)

    @field_validator("database_url", "database_replica_url")
    @classmethod
    def _with_password(cls, url: SecretStr | None, known: ValidationInfo) -> SecretStr | None:
        password = known.data.get("database_password")
        if not url or not password:
            return url
        try:
            parsed = make_url(url.get_secret_value())
        except (ArgumentError, ValueError):  # reported when connecting
            return url
        if parsed.password is not None:
            return url
        # Set by the parser, because a password may hold characters that an URL escapes.
        return SecretStr(parsed.set(password=password.get_secret_value()).render_as_string(hide_password=False))

    @property
    def accepted_keys(self) -> tuple[str, ...]:
        """Returns `old_secret_keys` as keys, without blank lines."""
        text = self.old_secret_keys.get_secret_value() if self.old_secret_keys else ""
        return tuple(line.strip() for line in text.splitlines() if line.strip())

    @cached_property
    def exposed_on(self) -> str | None:
        """`host`, if other machines can reach it; None where it is loopback."""
        try:
            is_loopback = ip_address(self.host.removeprefix("[").removesuffix("]")).is_loopback
        except ValueError:
            is_loopback = self.host.lower() == "localhost"
        return None if is_loopback else self.host

    @cached_property
    def allowed_endpoints(self) -> tuple[str, ...]:
        """Returns `endpoint_allowlist` as entries, lower-cased, without blanks."""
        return tuple(part.lower() for part in _split(self.endpoint_allowlist))

    @cached_property
    def allowed_models(self) -> tuple[str, ...]:
        """Returns `model_prefixes` as entries, without blanks."""
        return _split(self.model_prefixes)

    @cached_property
    def table_folders(self) -> tuple[Path | str, ...]:
        """Returns `table_roots` without blanks: folders as paths, addresses in object stores as they are."""
        return tuple(part if "://" in part else Path(part) for part in _split(self.table_roots))

    @cached_property
    def trusted_networks(self) -> tuple[Network, ...]:
        """Returns `trusted_proxies` as networks."""
        return _networks(self.trusted_proxies)

    @field_validator("api_processes")
    @classmethod
    def _check_processes(cls, value: int) -> int:
        if value > 1 and platform.system() == _ONE_PROCESS:
            raise ValueError("on macOS, one process gets all connections of an address, so there can only be 1")
        return value

    @field_validator("answers_dir")
    @classmethod
    def _check_answers(cls, value: Path | None, others: ValidationInfo) -> Path | None:
        if value is None and "://" in others.data.get("table_roots", ""):
            raise ValueError("must name a folder, because EVENHAND_TABLE_ROOTS has an object store, which Evenhand only reads")
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _check_proxies(cls, value: str) -> str:
        _networks(value)
        return value


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(ip_network(part, strict=False) for part in _split(text))


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def load_settings() -> Settings:
    """Reads the settings from the environment.

    Raises:
        InvalidInput: a variable has a value that cannot be used; the field is the variable's name.
    """
    try:
        return Settings()
    except ValidationError as error:
        problems = []
        for item in error.errors():
            name = str(item["loc"][0]) if item["loc"] else "environment"
            problems.append(FieldProblem(name if name.startswith("DATABASE_") else f"EVENHAND_{name.upper()}", item["msg"]))
        raise InvalidInput(problems) from error
