/* Draws every `<div class="chart" data-chart="ADDRESS">` from the Vega-Lite specification at that address, in the reader's colours.
   The interpreter (`ast`) evaluates expressions without building code, as the page's content policy demands. */
import { ask } from "./api.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const SHEET = 620; // CSS pixels: the width of a chart on A4, within a card
const SVG_LIMIT = 4000; // rows; beyond it a canvas is drawn, which does not make an element of every point

function themed(address) {
  const url = new URL(address, location.href);
  url.searchParams.set("theme", dark.matches ? "dark" : "light");
  return url.pathname + url.search;
}

function rows(specification) {
  const sets = Object.values(specification.datasets || {});
  return sets.reduce((sum, set) => sum + set.length, 0);
}

/** Draws one chart; where that fails, says so in its place. */
export async function draw(place) {
  const marker = Symbol();
  place.drawing = marker;
  place.setAttribute("aria-busy", "true");
  try {
    const specification = await ask("GET", themed(place.dataset.chart));
    if (place.drawing !== marker) return; // another drawing began meanwhile
    if (place.view) place.view.finalize();
    const renderer = rows(specification) > SVG_LIMIT ? "canvas" : "svg";
    place.view = await window.vegaEmbed(place, specification, {
      ast: true, actions: false, renderer, defaultStyle: false, tooltip: { disableDefaultStyle: true },
    });
  } catch (problem) {
    if (place.drawing === marker) fail(place, problem);
  } finally {
    place.removeAttribute("aria-busy");
  }
}

function fail(place, problem) {
  const again = Object.assign(document.createElement("button"), { type: "button", className: "quiet", textContent: "Draw it again" });
  again.addEventListener("click", () => {
    place.replaceChildren();
    place.tabIndex = -1;
    place.focus();
    draw(place);
  });
  const words = Object.assign(document.createElement("p"), { className: "note", textContent: `The chart cannot be drawn: ${problem.message}` });
  place.replaceChildren(words, again);
}

function drawAll() {
  document.querySelectorAll("[data-chart]").forEach(draw);
}

/** Draws every chart for that many pixels, at once: nothing waits for a print. On a sheet a wide picture would have tiny letters. */
function fit(widthOf) {
  for (const place of document.querySelectorAll("[data-chart]")) place.view?.view.width(widthOf(place)).run();
}

addEventListener("beforeprint", () => fit(() => SHEET));
addEventListener("afterprint", () => fit((place) => place.clientWidth));
dark.addEventListener("change", drawAll);
drawAll();
