"""Texts in files that people open in a spreadsheet, which runs a cell that begins like a formula."""

_BEGIN_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


def harmless(text: str) -> str:
    """Returns the text, with an apostrophe before it where a spreadsheet would read it as a formula, as OWASP advises."""
    return f"'{text}" if text.startswith(_BEGIN_FORMULAS) else text
