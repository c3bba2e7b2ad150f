"""Names in right-to-left scripts, isolated: otherwise the numbers after such a name would change places."""

import re

FIRST, LAST = "\u2068", "\u2069"
"""Unicode's marks around an isolated part of a text (FSI, PDI)."""

_RIGHT_TO_LEFT = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
_RUN = re.compile(f"{_RIGHT_TO_LEFT}+(?:[ '’-]+{_RIGHT_TO_LEFT}+)*")
_CONTROL = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def isolate(text: str) -> str:
    """Returns the text with each run of right-to-left words between `FIRST` and `LAST`.

    Characters that change direction are shown as their number, so that a name cannot turn a sentence round.
    """
    visible = _CONTROL.sub(lambda match: f"[U+{ord(match[0]):04X}]", text)
    return _RUN.sub(lambda match: f"{FIRST}{match[0]}{LAST}", visible)
