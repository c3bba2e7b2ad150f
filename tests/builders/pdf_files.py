"""Looks into PDF files."""

import re


def page_count(pdf: bytes) -> int:
    """The number of pages that the page tree has."""
    (found,) = re.findall(rb"/Type\s*/Pages[^>]*?/Count (\d+)", pdf)
    return int(found)
