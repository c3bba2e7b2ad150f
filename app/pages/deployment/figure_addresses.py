"""Addresses of the pages that explain a figure."""

from dataclasses import asdict
from urllib.parse import urlencode

from ...domain.check import Measurement


def figure_query(measurement: Measurement) -> str:
    """Query that identifies a measurement, under REST's names."""
    # A group may be blank, which is not the same as none.
    return urlencode({name: value for name, value in asdict(measurement.key).items() if value is not None})
