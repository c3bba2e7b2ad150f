/* Shows boxes that hold every word of the search, and those that are ticked. */

export function startSearch(input, list, state) {
  const labels = [...list.querySelectorAll("label")];
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const label of labels) {
      const box = label.querySelector("input");
      const text = `${label.textContent} ${box.value.replaceAll("_", " ")}`.toLowerCase();
      const fits = words.every((word) => text.includes(word));
      found += Number(fits);
      label.hidden = !fits && !box.checked;
    }
    const ticked = labels.filter((label) => label.querySelector("input").checked).length;
    state.textContent = words.length ? `${found} of ${labels.length} metrics fit; ${ticked} are ticked.` : `${labels.length} metrics; ${ticked} are ticked.`;
  };
  input.addEventListener("input", filter);
  list.addEventListener("change", filter);
  // A search is not saved, and Enter in it sends nothing.
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
  return filter;
}
