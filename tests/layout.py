"""Faults of layout that a browser can measure: what is cut, what touches, what overlaps."""

from playwright.sync_api import Page

_LEAST_GAP = 4
"""CSS pixels between two buttons, and between a button and a field."""

_FIND = """(leastGap) => {
    const found = [];
    const boxes = (selector, root = document) => [...root.querySelectorAll(selector)]
        .filter((one) => one.checkVisibility({opacityProperty: true, visibilityProperty: true}))
        .filter((one) => !one.closest('details:not([open]) > :not(summary)'))
        .map((one) => ({one, text: one.textContent.trim(), box: one.getBoundingClientRect()}))
        .filter(({box}) => box.width && box.height);
    const between = ({box: a}, {box: b}) => Math.max(a.left - b.right, b.left - a.right, a.top - b.bottom, b.top - a.bottom);
    const pairs = (ones) => ones.flatMap((one, place) => ones.slice(place + 1).map((other) => [one, other]));

    for (const one of document.querySelectorAll('.scroll'))
        if (one.scrollWidth > one.clientWidth + 1)
            found.push(`a table is cut: ${one.getAttribute('aria-label') ?? one.getAttribute('aria-labelledby')}`);
    for (const [one, other] of pairs(boxes('main :is(button:not(.word), .button)')))
        if (one.one.closest('dialog') === other.one.closest('dialog') && between(one, other) < leastGap)
            found.push(`buttons touch: ${one.text} and ${other.text}`);
    const fields = boxes('main :is(select, textarea, input:not([type=checkbox], [type=radio]))');
    for (const field of fields)
        for (const button of boxes('main :is(button:not(.word), .button)'))
            if (field.one.closest('dialog') === button.one.closest('dialog') && between(field, button) < leastGap)
                found.push(`a button touches a field: ${button.text} and ${field.one.name}`);
    for (const axis of document.querySelectorAll('.time-axis, .levels, .ticks, .role-axis-label'))
        for (const [one, other] of pairs(boxes('text', axis)))
            if (between(one, other) < 0) found.push(`labels overlap: ${one.text} and ${other.text}`);
    for (const {one: picture, box: frame} of boxes('.chart svg'))
        for (const {text, box} of boxes('text', picture))
            if (box.right > frame.right + 1 || box.left < frame.left - 1) found.push(`a label is cut: ${text}`);
    return found;
}"""


def layout_faults(page: Page) -> list[str]:
    """Returns what is cut, touches or overlaps on the page as it is now."""
    found: list[str] = page.evaluate(_FIND, _LEAST_GAP)
    return found
