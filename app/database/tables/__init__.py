"""The Row classes, and the metadata for the migrations."""

# ruff: noqa: F403 - the modules hold tables, and little else
from .access import *
from .alerts import *
from .base import *
from .checks import *
from .deployments import *
from .evidence import *
from .records import *
from .reports import *
from .retention import *
