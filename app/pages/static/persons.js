/* Whose the records are: a column with a person's id, a declaration, or not said yet. */

/** The members of the monitor's `evidence` that a select says. */
export function readPersons(select) {
  const [{ value, dataset }] = select.selectedOptions;
  return { person: value || null, each_record_another_person: "another" in dataset };
}

export function showPersons(select, { person, each_record_another_person: isAnother }) {
  const options = [...select.options];
  const fits = (option) => option.value === (person || "") && "another" in option.dataset === isAnother;
  (options.find(fits) || options[0]).selected = true;
}
