/* Keeps a click on a button that comes before the page's modules have run, and clicks again when they have.

   It is loaded before the page's content, so no button is shown without it. Enter in a form counts too: browsers click the form's button. */
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
  // Modules run before this event, in the order of the page; none of them is loaded later.
  document.addEventListener("DOMContentLoaded", () => {
    removeEventListener("click", keep, true);
    early.forEach((button) => button.click());
  });
})();
