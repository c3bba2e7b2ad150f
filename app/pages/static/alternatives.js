/* `<fieldset data-of="webhook slack">` is there while the select has one of these values. */
export function alternate(form, select) {
  const choose = () => {
    for (const part of form.querySelectorAll("[data-of]")) {
      const fits = part.dataset.of.split(" ").includes(select.value);
      part.hidden = !fits;
      part.disabled = !fits;
    }
  };
  select.addEventListener("change", choose);
  choose();
}
