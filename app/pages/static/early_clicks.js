/* Keeps a click, or Enter, that comes before the page's modules have run, and repeats it. Loaded before the content. */
(() => {
  const early = new Set();

  function keep(event) {
    const button = event.target.closest?.("button");
    if (!button) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    early.add(button);
  }

  addEventListener("click", keep, true);
  // Modules run before this event; none is loaded later.
  document.addEventListener("DOMContentLoaded", () => {
    removeEventListener("click", keep, true);
    early.forEach((button) => button.click());
  });
})();
