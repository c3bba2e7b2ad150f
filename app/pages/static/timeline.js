/* Panels over time: one crosshair, the nearest bar in words; a click opens its check, a drag or Shift with the arrows chooses a time. */
const [X, FROM, TO, LOW, HIGH, LOWER, UPPER, RECORDS, CARRIED, VERDICTS, CHECK] = Array(11).keys();
const NAMES = ["unfair", "suspected", "no limit on this side", "undecided", "fair", "too few records", "not computable", "no limit"];
const LEAST_DRAG = 6; // CSS pixels; less is a click

const place = /** @type {HTMLElement | null} */ (document.querySelector(".timeline"));
if (place) start(place, /** @type {HTMLElement} */ (document.querySelector(".time-tip")));

function start(timeline, tip) {
  const [begin, end] = [Number(timeline.dataset.start), Number(timeline.dataset.end)];
  const panels = [...timeline.querySelectorAll(".time-panel[data-steps]")].map((figure) => ({
    figure, plot: figure.querySelector(".time-plot"), steps: JSON.parse(figure.dataset.steps), name: figure.dataset.name, form: figure.dataset.form,
  })).filter((one) => one.steps.length);
  const plots = [...timeline.querySelectorAll(".time-plot")];
  const hairs = timeline.querySelectorAll(".crosshair");
  const brush = timeline.querySelector(".brush");
  const spoken = document.getElementById("timeline-said");
  const clock = formatter(timeline.dataset.zone);
  /** Shown bar (panel and number), and the other end of a marked time, in units. */
  let at = null, anchor = null, drag = null;

  const visible = () => panels.filter((one) => one.figure.offsetParent !== null);
  const units = (event, plot = plots[0]) => {
    const box = plot.getBoundingClientRect();
    return Math.min(1000, Math.max(0, ((event.clientX - box.left) / box.width) * 1000));
  };
  const nearest = (panel, x) => {
    let [low, high] = [0, panel.steps.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (panel.steps[middle][X] < x) low = middle + 1; else high = middle;
    }
    return low > 0 && x - panel.steps[low - 1][X] < panel.steps[low][X] - x ? low - 1 : low;
  };

  function show(panel, number, { aloud = false } = {}) {
    at = { panel, number };
    const step = panel.steps[number];
    hairs.forEach((hair) => { hair.hidden = false; hair.style.left = `${step[X] / 10}%`; });
    const lines = describe(panel, step, clock);
    tip.replaceChildren(...lines.map((line, place) => Object.assign(document.createElement(place ? "div" : "strong"), { textContent: line })));
    tip.hidden = false;
    position(tip, panel.plot, step[X]);
    if (aloud) spoken.textContent = lines.join(". ");
  }

  function hide() {
    at = null;
    tip.hidden = true;
    hairs.forEach((hair) => { hair.hidden = true; });
  }

  function mark(first, last) {
    const box = plots[0].getBoundingClientRect(), frame = timeline.getBoundingClientRect();
    const [left, right] = [Math.min(first, last), Math.max(first, last)];
    brush.hidden = false;
    brush.style.left = `${box.left - frame.left + (left / 1000) * box.width}px`;
    brush.style.width = `${((right - left) / 1000) * box.width}px`;
  }

  function unmark() {
    anchor = drag = null;
    brush.hidden = true;
  }

  function choose(first, last) {
    const moment = (x) => new Date(Math.round((begin + (x / 1000) * (end - begin)) / 60) * 60000);
    const [from, to] = [moment(Math.min(first, last)), moment(Math.max(first, last))];
    if (to <= from) return;
    const address = new URL(timeline.dataset.opens ?? location.href, location.href);
    address.searchParams.delete("range");
    address.searchParams.set("from", `${from.toISOString().slice(0, 16)}Z`);
    address.searchParams.set("to", `${to.toISOString().slice(0, 16)}Z`);
    address.hash = "over-time";
    location.assign(address);
  }

  function open({ panel, number }) {
    const check = panel.steps[number][CHECK];
    if (check !== null) location.assign(timeline.dataset.checks + check + keptQuery());
  }

  timeline.addEventListener("pointermove", (event) => {
    if (drag) {
      if (!drag.moved && Math.abs(event.clientX - drag.clientX) < LEAST_DRAG) return;
      drag.moved = true;
      hide();
      mark(drag.x, units(event));
      return;
    }
    const plot = event.target.closest(".time-plot");
    const panel = plot && panels.find((one) => one.plot === plot);
    if (panel) show(panel, nearest(panel, units(event, plot)));
  });
  timeline.addEventListener("pointerdown", (event) => {
    if (event.button || !event.target.closest(".time-plot")) return;
    drag = { x: units(event), clientX: event.clientX, moved: false };
    timeline.setPointerCapture(event.pointerId);
  });
  timeline.addEventListener("pointerup", (event) => {
    const was = drag;
    unmark();
    if (!was) return;
    if (was.moved) choose(was.x, units(event));
    else {
      const plot = document.elementFromPoint(event.clientX, event.clientY)?.closest(".time-plot");
      const panel = plot && panels.find((one) => one.plot === plot);
      if (panel) open({ panel, number: nearest(panel, units(event, plot)) });
    }
  });
  timeline.addEventListener("pointercancel", unmark);
  timeline.addEventListener("pointerleave", () => { if (!drag && document.activeElement !== timeline) hide(); });
  timeline.addEventListener("blur", () => { unmark(); hide(); });

  timeline.addEventListener("keydown", (event) => {
    if (event.target !== timeline || event.ctrlKey || event.metaKey || event.altKey) return;
    const shown = visible();
    if (!shown.length) return;
    const now = at && shown.includes(at.panel) ? at : { panel: shown[0], number: shown[0].steps.length };
    const along = { ArrowLeft: -1, ArrowRight: 1 }[event.key], down = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (along || event.key === "Home" || event.key === "End") {
      const last = now.panel.steps.length - 1;
      const number = along ? Math.min(last, Math.max(0, now.number + along)) : event.key === "Home" ? 0 : last;
      if (event.shiftKey) {
        const first = now.panel.steps[Math.min(now.number, last)];
        anchor ??= first[X];
      } else unmark();
      show(now.panel, number, { aloud: true });
      if (anchor !== null) mark(anchor, now.panel.steps[number][X]);
    } else if (down) {
      const panel = shown[Math.min(shown.length - 1, Math.max(0, shown.indexOf(now.panel) + down))];
      show(panel, nearest(panel, now.panel.steps[Math.min(now.number, now.panel.steps.length - 1)][X]), { aloud: true });
    } else if (event.key === "Enter" && at) {
      if (anchor !== null) choose(anchor, at.panel.steps[at.number][X]); else open(at);
    } else if (event.key === "Escape") {
      unmark();
      hide();
    } else return;
    event.preventDefault();
  });
}

function describe(panel, step, clock) {
  const format = { share: (value) => `${(100 * value).toFixed(1)} %`, count: (value) => value.toFixed(0), number: (value) => value.toFixed(3) }[panel.form];
  const write = (value) => format(value).replace(/^-/, "\u2212");
  const checks = step[VERDICTS].reduce((sum, count) => sum + count, 0);
  const verdicts = NAMES.map((name, place) => [name, step[VERDICTS][place]]).filter(([, count]) => count);
  const figures = write(step[LOW]) === write(step[HIGH]) ? write(step[LOW]) : `${write(step[LOW])} to ${write(step[HIGH])}`;
  const interval = `${step[LOWER] === null ? "no lower end" : write(step[LOWER])} to ${step[UPPER] === null ? "no upper end" : write(step[UPPER])}`;
  return [
    `${panel.name}: ${figures}`,
    `${step[FROM] === null ? "check up to" : `${clock.format(new Date(step[FROM] * 1000))} –`} ${clock.format(new Date(step[TO] * 1000))}`,
    `95 % ${checks + step[CARRIED] > 1 ? "intervals" : "interval"}: ${interval}`,
    `${checks + step[CARRIED] > 1 ? "up to " : ""}${step[RECORDS].toLocaleString("en")} records`,
    [
      checks > 1 ? `${checks} checks: ${verdicts.map(([name, count]) => `${name} ${count}`).join(", ")}` : verdicts.map(([name]) => name).join(),
      step[CARRIED] ? `${step[CARRIED] > 1 ? `${step[CARRIED]} ` : ""}carried forward` : "",
    ].filter(Boolean).join("; "),
  ];
}

function formatter(zone) {
  const words = { dateStyle: "medium", timeStyle: "short" };
  try {
    return new Intl.DateTimeFormat("en-GB", { ...words, timeZone: zone });
  } catch { // a zone unknown to this browser
    return new Intl.DateTimeFormat("en-GB", { ...words, timeZone: "UTC" });
  }
}

/** On the side with more room. */
function position(tip, plot, x) {
  const box = plot.getBoundingClientRect(), width = tip.offsetWidth;
  const middle = box.left + (x / 1000) * box.width;
  const left = middle + 12 + width < document.documentElement.clientWidth ? middle + 12 : Math.max(4, middle - 12 - width);
  tip.style.left = `${left + scrollX}px`;
  tip.style.top = `${Math.max(4, box.top + scrollY - tip.offsetHeight - 6)}px`;
}

function keptQuery() {
  const kept = new URLSearchParams();
  for (const name of ["range", "from", "to", "compare", "zone"]) {
    const value = new URLSearchParams(location.search).get(name);
    if (value) kept.set(name, value);
  }
  return kept.size ? `?${kept}` : "";
}
