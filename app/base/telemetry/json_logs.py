"""One JSON object per line, from structlog and `logging` alike."""

import logging
import sys

import structlog

from ..errors import InvalidInput
from .mask_secrets import mask_secrets
from .traces import add_trace_id

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

# These log once per request, per statement or per job.
QUIET_LOGGERS = ("httpx", "httpcore", "apscheduler", "alembic", "python_multipart", "uvicorn.access")


def configure_logging(level: str) -> None:
    """Logs go to standard error: commands own the output. Raises InvalidInput of an unknown level."""
    level_name = level.upper()
    if level_name not in LEVELS:
        raise InvalidInput("EVENHAND_LOG_LEVEL", f"must be one of {', '.join(LEVELS)}, found {level!r}")
    structlog.configure(
        processors=[*_build_shared(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level_name),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    processors: list[structlog.typing.Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        _drop_colours,
        structlog.processors.format_exc_info,
        mask_secrets,  # last: an exception's message may hold a secret
        structlog.processors.JSONRenderer(default=str),
    ]
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=_build_shared(), processors=processors)
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level_name)
    logging.getLogger("uvicorn.error").addFilter(_is_no_warning)
    for name in QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)


def _is_no_warning(record: logging.LogRecord) -> bool:
    """Drops uvicorn's warnings, with which a flood of bad requests would fill the log."""
    return record.levelno != logging.WARNING


def _build_shared() -> list[structlog.typing.Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        add_trace_id,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _drop_colours(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    event.pop("color_message", None)  # the message again, with colours for terminals
    return event
