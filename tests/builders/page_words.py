"""The words of a page, as a person reads them: for the snapshot of the page, and for facts in it."""

import html
import re

_BLOCK = re.compile(r"<(?:h[1-6]|p|tr|li|dt|summary|form|label|section|table|caption|legend|details|figure|pre)\b")
_HIDDEN = re.compile(
    r"</?bdi>|<span popover.*?</span>|<nav aria-label=\"(?:Where|Of).*?</nav>|<section class=\"range-bar\".*?</section>|"
    r"<details class=\"menu\">.*?</details>|<a class=\"button quiet\" href=\"[^\"]*/reports\">Report</a>|"
    r"<(script|style|template)\b.*?</\1>",
    re.DOTALL,
)

_TIME = r"\d\d:\d\d(?::\d\d)?"
_MOMENTS_OF_SCENES = re.compile(rf"(2026-03-\d\d(?: {_TIME})?(?: UTC)?(?: (?:to|–) (?:2026-03-\d\d )?{_TIME})?)")


def words(text: str) -> str:
    """What a page or a part of it says, a line a block: no frame of the page, no tags, no explanations that are still closed."""
    content = re.sub(r"\A(?:.*?<(?:div id=\"workers\"|main)|[^<>]*)[^<>]*>|</main>.*", "", text, flags=re.DOTALL)
    blocks = _BLOCK.sub("\0\\g<0>", _HIDDEN.sub("", content)).split("\0")
    lines = (" ".join(html.unescape(re.sub(r"<[^>]*>", " ", block)).split()) for block in blocks)
    return "\n".join(line for line in lines if line)


def says(text: str, *facts: str) -> bool:
    """Whether one line of the text has these facts in this order, whatever is said between them."""
    return re.search(".*?".join(rf"(?<!\w){re.escape(fact)}(?!\w)" for fact in facts), text) is not None


def hide_varying(data: object, path: object) -> object:  # noqa: ARG001 - the signature of a matcher of snapshots
    """A value without what another run has otherwise: ids, moments but those of scenes, ages, ports and folders."""
    if not isinstance(data, str):
        return data
    between = _MOMENTS_OF_SCENES.split(data)
    between[::2] = map(_hide, between[::2])
    return "".join(between)


def _hide(text: str) -> str:
    text = re.sub(r"/[^\s'\"]*/test_[^\s'\"/]*\d/", "<folder>/", text)
    text = re.sub(r"\b[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\b", "<id>", text)
    text = re.sub(r"\(key \w{8}\)", "(key <id>)", text)
    text = re.sub(r"\b20\d\d-\d\d-\d\d\b", "<date>", text)
    text = re.sub(r"\b\d\d? (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b( 20\d\d)?", "<date>", text)
    text = re.sub(r"\bjust now\b|(\bunder )?\b(\d+ \w+ ago|\d+ min|\d{4,} h)\b", "<ago>", text)
    text = re.sub(r"\b\d\d:\d\d(:\d\d(\.\d+)?)?\b", "<time>", text)
    # Of the hour before now, in which the records of a test may lie or not.
    text = re.sub(r"\b[\d,]+ records since <date>", "<count> records since <date>", text)
    # Marks of an axis: where midnight lies among them depends on the hour.
    text = re.sub(r"(?:<date> )?<time>(?: <(?:time|date)>){2,}", "<marks>", text)
    text = re.sub(r"(at most [\d,]+ in [\w ]+?)(?: <(?:time|date|marks)>)+", r"\1 <marks>", text)
    # A span that goes over midnight names its second day, too.
    text = re.sub(r"<date> <time>( UTC)? (to|–) <date> <time>", r"<date> <time>\1 \2 <time>", text)
    return re.sub(r"(127\.0\.0\.1|localhost):\d+", r"\1:<port>", text)
