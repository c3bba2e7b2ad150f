"""Tuning of the embedded server. Passed on its command line at every start, so a new version's values apply at once."""

from pathlib import Path

TUNING = {
    # Durability: an answer to an ingestion request promises that the rows survive a power cut.
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    # Only the socket, only its owner.
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    # Short statements: compiling them costs more than running them; it made a comparable project 50 times slower.
    "jit": "off",
    # The service and the model share the machine: a check's big read must not take every core from ingestion.
    "max_parallel_workers_per_gather": "0",
    "shared_buffers": "256MB",
    "effective_cache_size": "1GB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "random_page_cost": "1.1",
    # Bulk COPY: fewer checkpoints, smaller full-page images; 2 GB of log replays in seconds.
    "max_wal_size": "2GB",
    "wal_compression": "on",
    # The log holds starts, stops and crashes. Statements and rows stay out of it: they are personal data.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
    "log_timezone": "UTC",
    "timezone": "UTC",
}


def server_arguments(data: Path, socket_dir: Path, port: int) -> list[str]:
    """Returns the arguments of `postgres` for this data and socket folder."""
    quoted = str(socket_dir).replace('"', '""')  # the setting is a list: a comma or blank in a path would split it
    settings = TUNING | {"unix_socket_directories": f'"{quoted}"', "port": str(port)}
    return ["-D", str(data), *(part for name, value in settings.items() for part in ("-c", f"{name}={value}"))]


def initdb_arguments(data: Path, superuser: str) -> list[str]:
    """Returns the arguments of `initdb`. Text sorts by code point, the same on every machine."""
    return [
        f"--pgdata={data}",
        f"--username={superuser}",
        "--encoding=UTF8",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        # The socket's folder is closed to all but its owner, who could read the files as well.
        "--auth-local=trust",
        "--auth-host=reject",
    ]
