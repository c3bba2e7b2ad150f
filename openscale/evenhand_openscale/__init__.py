"""The second face: the OpenScale v2 API over the services of REST v1, for scripts written with its Python SDK.

It translates, and decides nothing about fairness. Changes go through the functions of REST v1's own routes, so there is one way to write.
"""

from .door import OpenScaleDoor, is_openscale
from .face import create_face

__all__ = ["OpenScaleDoor", "create_face", "is_openscale"]
