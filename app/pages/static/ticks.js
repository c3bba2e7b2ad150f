/* Ticked rows of a list: one box ticks all of its table, Escape unticks everything, and the bar says how many there are. */
for (const form of document.querySelectorAll("form[data-ticks]")) {
  const bar = form.querySelector("[data-bulk]");
  if (!bar) continue;
  const boxes = [...form.querySelectorAll("input[name=alerts]")];
  const heads = [...form.querySelectorAll("[data-tick-all]")];
  const below = (head) => boxes.filter((box) => head.closest("table").contains(box));

  const show = () => {
    const ticked = boxes.filter((box) => box.checked).length;
    bar.hidden = ticked === 0;
    bar.querySelector("[data-ticked]").textContent = ticked === 1 ? "1 alert is ticked." : `${ticked} alerts are ticked.`;
    for (const head of heads) {
      const several = below(head);
      head.checked = several.every((box) => box.checked);
      head.indeterminate = !head.checked && several.some((box) => box.checked);
    }
  };
  form.addEventListener("change", (event) => {
    const head = event.target.closest("[data-tick-all]");
    if (head) for (const box of below(head)) box.checked = head.checked;
    show();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const box of boxes) box.checked = false;
    show();
  });
  show();
}
