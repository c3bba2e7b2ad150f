"""Faults of layout that a browser can measure: what is cut, touches, overlaps, is out of line, or breaks where it must not."""

from playwright.sync_api import Page

_LEAST_GAP = 4
"""CSS pixels between two buttons, and between a button and a field."""

_LEAST_OVER_HEADING = 18
"""CSS pixels between a heading and the text above it."""

_FIND = r"""({leastGap, leastOver}) => {
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
    for (const {one: name, text} of boxes('.who span')) {
        const isCut = name.scrollWidth > name.clientWidth + 1 || name.scrollHeight > name.clientHeight + 1;
        // A longer name may be shortened, if pointing at it shows all of it.
        if (isCut && (text.length <= 24 || !name.title.includes(text))) found.push(`the person's name is cut: ${text}`);
    }
    const lines = (root) => {
        const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), range = document.createRange(), rects = [];
        while (walker.nextNode()) {
            if (!walker.currentNode.data.trim() || !walker.currentNode.parentElement.checkVisibility({visibilityProperty: true})) continue;
            if (walker.currentNode.parentElement.closest('details:not([open]) > :not(summary), dialog, .visually-hidden')) continue;
            range.selectNodeContents(walker.currentNode);
            rects.push(...range.getClientRects());
        }
        return rects;
    };
    const countLines = (root) => {
        const bottoms = lines(root).map((one) => one.bottom).sort((one, other) => one - other);
        return bottoms.filter((one, place) => !place || one - bottoms[place - 1] > 6).length;
    };
    const headings = boxes('main h2').filter(({one}) => !one.closest('dialog'));
    // Contents beside an article scroll by themselves: what they hide is not above its headings.
    const texts = headings.length ? lines(document.querySelector('main article.text') ?? document.querySelector('main')) : [];
    for (const {text, box} of headings) {
        const above = texts.filter((one) => one.bottom <= box.top + 4 && one.left < box.right && box.left < one.right && one.height);
        if (above.length && box.top - Math.max(...above.map((one) => one.bottom)) < leastOver)
            found.push(`a heading is close to what is above: ${text}`);
    }
    if (matchMedia('screen').matches && innerWidth >= 1280)
        for (const {one: row} of boxes('table.records tbody tr')) {
            // Several statements in a cell have a line each.
            const tall = [...row.cells].find((cell) => !cell.querySelector('br') && countLines(cell) > 2);
            if (tall) found.push(`a row has three lines: ${tall.textContent.trim().replace(/\s+/g, ' ')}`);
        }
    for (const {one: cell, text} of boxes('td.number'))
        if (countLines(cell) > text.split(/\s+/).length) found.push(`a figure is broken: ${text.replace(/\s+/g, ' ')}`);
    for (const {one: head, text} of boxes('thead th'))
        if (getComputedStyle(head).clipPath === 'none' && head.scrollWidth > head.clientWidth + 1)
            found.push(`the head of a column is cut: ${text}`);
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
    faults: list[str] = page.evaluate(_FIND, {"leastGap": _LEAST_GAP, "leastOver": _LEAST_OVER_HEADING})
    return faults
