"""The fixtures of the service's own tests: a database, and what its servers trust."""

from tests.conftest import *  # noqa: F403 - pytest finds fixtures by their names here
from tests.conftest import _one_authority, _own_logging  # noqa: F401 - as above
