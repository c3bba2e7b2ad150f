"""One JSON object a line on standard error, from structlog and from libraries that use `logging` alike."""

import logging
import sys

import structlog

from app.errors import InvalidInput
from app.telemetry.secrets import mask_secrets

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

# These speak once per request, per statement or per job; what matters of it we log ourselves.
QUIET = ("httpx", "httpcore", "apscheduler", "alembic", "python_multipart", "uvicorn.access")


def configure_logging(level: str) -> None:
    """Log from `level` on, for the whole process. Standard output stays free for what a command prints.

    Raises:
        InvalidInput: no such level.
    """
    wanted = level.upper()
    if wanted not in LEVELS:
        raise InvalidInput.of("EVENHAND_LOG_LEVEL", f"must be one of {', '.join(LEVELS)}, found {level!r}")
    structlog.configure(
        processors=[*_shared(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(wanted),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=_shared(), processors=_final()))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(wanted)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def bind_request_id(request_id: str) -> None:
    """Every line logged from here on in this request's context carries `request_id`."""
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=request_id)


def _shared() -> list[structlog.typing.Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _final() -> list[structlog.typing.Processor]:
    return [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        _without_colours,
        structlog.processors.format_exc_info,
        mask_secrets,  # after tracebacks have become text: a secret may stand in an exception's message
        structlog.processors.JSONRenderer(default=str),
    ]


def _without_colours(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    event.pop("color_message", None)  # uvicorn says everything twice, the second time for terminals
    return event
