"""Makes cheap in this process what protects nothing in tests. The commands that tests start keep the product's costs."""

import os
from functools import cache
from pathlib import Path
from ssl import SSLContext
from typing import Any

import adbc_driver_postgresql
import certifi
from adbc_driver_manager import AdbcDatabase
from argon2 import PasswordHasher
from httpx._config import create_ssl_context
from httpx._transports import default as httpx_default
from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.util import LRUCache

from app.access import passwords
from app.database import engine as product
from tests.connections import KEEPER, KeptConnection


def hash_passwords_cheaply() -> None:
    """Takes a thousandth of the memory and time for a hash. A hash holds its own costs, so any process can verify it."""
    passwords._HASHER = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)  # noqa: SLF001 - no setting of the product may weaken it


def trust_one_authority(folder: Path) -> None:
    """Reads one certificate authority instead of some 140 for each client of httpx: 60 ms. Tests call no server of the Internet."""
    if "SSL_CERT_FILE" in os.environ:
        return
    end = "-----END CERTIFICATE-----\n"
    first, _, _ = Path(certifi.where()).read_text(encoding="utf-8").partition(end)
    file = folder / "one-authority.pem"
    file.write_text(first + end, encoding="utf-8")
    os.environ["SSL_CERT_FILE"] = str(file)


def share_tls_contexts() -> None:
    """Makes one TLS context for the clients of httpx that trust the same authorities instead of one for each: 20 ms."""
    made: dict[tuple[bool, str | None, str | None], SSLContext] = {}

    def create(verify: SSLContext | str | bool = True, cert: Any = None, trust_env: bool = True) -> SSLContext:  # noqa: ANN401, FBT001, FBT002 - as httpx calls it
        if verify is not True or cert is not None:
            return create_ssl_context(verify=verify, cert=cert, trust_env=trust_env)
        key = (trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        if key not in made:
            made[key] = create_ssl_context(trust_env=trust_env)
        return made[key]

    httpx_default.create_ssl_context = create  # type: ignore[attr-defined]


def compile_statements_once() -> None:
    """Compiles a statement for the first database that needs it instead of for each: a tenth of what a test with a database takes.

    Engines that are made later take connections that earlier ones have left, too.
    """
    statements: LRUCache[Any, Any] = LRUCache(5000)

    def create(*arguments: Any, **options: Any) -> Engine:  # noqa: ANN401 - those of SQLAlchemy
        made = create_engine(*arguments, **options)
        made._compiled_cache = statements  # noqa: SLF001 - the only other way is one engine for all databases
        made.dialect.connect = KeptConnection.connect  # type: ignore[method-assign]
        return made

    product.create_engine = create  # type: ignore[assignment]
    product.ArrowPool = KEEPER.open_readers  # type: ignore[assignment, misc]
    # The dialect is a part of the key under which a compiled statement is kept, and each engine has another one.
    PGDialect_psycopg.__eq__ = _writes_same_sql  # type: ignore[method-assign, assignment]
    PGDialect_psycopg.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]


def ask_servers_once() -> None:
    """Asks a server for its version and settings once instead of for each engine: two thirds of what the first connection takes."""
    initialize = PGDialect_psycopg.initialize
    attributes: dict[tuple[object, ...], dict[str, Any]] = {}

    def initialize_once(self: PGDialect_psycopg, connection: Connection) -> None:
        info = connection.connection.dbapi_connection.info  # type: ignore[union-attr]
        server = (info.host, info.port, info.user, info.server_version)
        if server not in attributes:
            before = dict(vars(self))
            initialize(self, connection)
            attributes[server] = {name: value for name, value in vars(self).items() if name not in before or before[name] is not value}
        vars(self).update(attributes[server])

    PGDialect_psycopg.initialize = initialize_once  # type: ignore[method-assign]


def _writes_same_sql(dialect: PGDialect_psycopg, other: object) -> bool:
    return type(dialect) is type(other) and dialect.server_version_info == getattr(other, "server_version_info", None)


class _KeptDatabase(AdbcDatabase):  # type: ignore[misc]
    """What ADBC has read of the types of a database. Those of a test share it, so none of them closes it."""

    def close(self) -> None:
        """Does nothing."""


def read_types_once() -> None:
    """Reads the catalogue of types once for each database instead of for each test: 40 ms."""
    driver = adbc_driver_postgresql._driver_path()  # noqa: SLF001 - the only other way is to read the catalogue

    @cache
    def keep(uri: str) -> AdbcDatabase:
        return _KeptDatabase(driver=driver, uri=uri)

    def connect(uri: str, db_kwargs: dict[str, str] | None = None) -> AdbcDatabase:
        assert db_kwargs is None, "the product passes none"
        return keep(uri)

    adbc_driver_postgresql.connect = connect
