"""Faults of layout that a browser can measure: what is cut, touches, overlaps, is out of line, or breaks where it must not."""

from playwright.sync_api import Page

_LEAST_GAP = 4
"""CSS pixels between two buttons, and between a button and a field."""

_FIND = r"""(leastGap) => {
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
    for (const grid of document.querySelectorAll('.fields:not(.ends)')) {
        const fields = boxes(':scope > *', grid).map(({one, box}) => ({box, control: boxes('input, select, textarea', one)[0]}));
        for (const [one, other] of pairs(fields.filter(({control}) => control)))
            if (Math.abs(one.box.top - other.box.top) < 1 && Math.abs(one.control.box.top - other.control.box.top) > 1)
                found.push(`fields are out of line: ${one.control.one.name} and ${other.control.one.name}`);
    }
    for (const table of document.querySelectorAll('table:has(thead)')) {
        const names = [...table.querySelectorAll('thead th')].map((one) => one.textContent.trim()).filter(Boolean);
        for (const name of new Set(names.filter((name, place) => names.indexOf(name) !== place)))
            found.push(`two columns are called ${name}`);
    }
    const pen = document.createElement('canvas').getContext('2d');
    for (const {one: select, box} of boxes('main select')) {
        const style = getComputedStyle(select), text = select.selectedOptions[0]?.textContent.trim() ?? '';
        pen.font = style.font;
        if (pen.measureText(text).width + parseFloat(style.paddingLeft) + parseFloat(style.paddingRight) > box.width)
            found.push(`a choice is cut: ${text}`);
    }
    for (const {one: cell, box: frame} of boxes('td'))
        for (const {text, box} of boxes('.badge', cell))
            if (box.right > frame.right + 1) found.push(`a badge is wider than its cell: ${text}`);
    const words = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
    while (words.nextNode())
        for (const one of words.currentNode.data.matchAll(/\d–\d/g)) {
            const range = document.createRange();
            range.setStart(words.currentNode, one.index);
            range.setEnd(words.currentNode, one.index + 3);
            const tops = [...range.getClientRects()].map((box) => Math.round(box.top));
            if (Math.max(...tops) - Math.min(...tops) > 3) found.push(`a range is broken: ${words.currentNode.data.trim()}`);
        }
    return found;
}"""


def layout_faults(page: Page) -> list[str]:
    """Returns the faults of the page as it is now."""
    found: list[str] = page.evaluate(_FIND, _LEAST_GAP)
    return found
