import { alternate } from "./alternatives.js";

for (const form of document.querySelectorAll("[data-rule]")) alternate(form, form.querySelector("[data-kind]"));
