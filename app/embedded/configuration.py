"""Tuning of the embedded server, passed on its command line at every start."""

from pathlib import Path

from .place import PORT

TUNING = {
    # An answer to an ingestion request promises that the rows survive a power cut.
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    # Only the socket.
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    # Statements are short: compiling costs more than running.
    "jit": "off",
    # A check's big read must not take every core from ingestion.
    "max_parallel_workers_per_gather": "0",
    "shared_buffers": "256MB",
    "effective_cache_size": "1GB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "random_page_cost": "1.1",
    # Fewer checkpoints under bulk COPY; 2 GB of log replays in seconds.
    "max_wal_size": "2GB",
    "wal_compression": "on",
    # Statements and rows stay out of the log: they are personal data.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
    "log_timezone": "UTC",
    "timezone": "UTC",
}


def server_arguments(data: Path, socket_dir: Path) -> list[str]:
    quoted = str(socket_dir).replace('"', '""')  # a comma or blank in a path would split the list
    settings = TUNING | {"unix_socket_directories": f'"{quoted}"', "port": str(PORT)}
    return ["-D", str(data), *(part for name, value in settings.items() for part in ("-c", f"{name}={value}"))]


def initdb_arguments(data: Path, superuser: str) -> list[str]:
    """Returns the arguments of `initdb`. Text sorts by code point."""
    return [
        f"--pgdata={data}",
        f"--username={superuser}",
        "--encoding=UTF8",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        # The socket's folder is closed to all but its owner.
        "--auth-local=trust",
        "--auth-host=reject",
    ]
