/* Keeps a click, or Enter, that comes before the page's modules have run, and repeats it. Loaded before the content. */
(() => {
  const early = new Set();

  function keep(event) {
    const control = event.target.closest?.("button, a[data-report]");
    if (!control || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    early.add(control);
  }

  addEventListener("click", keep, true);
  // Modules run before this event; none is loaded later.
  document.addEventListener("DOMContentLoaded", () => {
    removeEventListener("click", keep, true);
    early.forEach((control) => control.click());
  });
})();
