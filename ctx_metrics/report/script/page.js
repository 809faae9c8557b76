// What the other scripts rely on: the page's data and elements, and how scores are formatted. All data are in the page.

/**
 * @typedef {{name: string, title: string, sign: number, segments: (number|null)[][], documents: (number|null)[][]|null, system: (number|null)[]}} Metric
 * @typedef {{id: string, start: number, end: number}} Doc
 * @typedef {{systems: string[], metrics: Metric[], source: string[]|null, references: string[][], outputs: string[][],
 *            words: string[], documents: Doc[], key: string, source_lang: string|null, target_lang: string|null,
 *            gaps: [number, number, string|null][], windows: {metric: number, rows: [number, number, number|null][][]}[],
 *            matches: Match[], parts: Object<string, Object<string, number>>, marked: {title: string, spans: Object<string, Span[]>}[],
 *            charts: any[]}} Data
 * @typedef {[number, number[]|null, number[]|null, number[]|null, number[]|null]} Pair
 * @typedef {{metric: number, segments: number[], references: number[][][], outputs: number[][][], pairs: (Pair|null)[][]}} Match
 * @typedef {[number|null, number|null, string]} Span
 */

const packed = document.querySelectorAll(".data");
const several = packed.length > 1; // test sets

/** What the page's address names: a test set, a part of its view, and a segment or document, both from 1. */
function address() {
  const [, set, name, number] = /^#?(?:(\d+)\/)?([a-z]*)-?(\d*)$/.exec(location.hash) || [];
  return {
    set: Math.max(1, Math.min(packed.length, Number(set || 1))),
    name: name || (several && !set ? "sets" : "overview"),
    number: Number(number || 0),
  };
}

/** The test set that is shown, from 1. Another one is shown by loading the page again, so that this is the only one. */
const SET = address().set;
const HERE = several ? `#${SET}/` : "#"; // where addresses in this set begin
for (const each of document.querySelectorAll("[data-set]"))
  if (each instanceof HTMLElement && Number(each.dataset.set) !== SET) each.remove();

/** The data of the test set: gzip-compressed JSON in base 64. @returns {Promise<Data>} */
async function unpacked() {
  const text = atob(packed[SET - 1].textContent || "");
  const stream = new Blob([Uint8Array.from(text, (each) => each.charCodeAt(0))])
    .stream()
    .pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const data = await unpacked();
const documentOf = new Int32Array(data.outputs[0].length).fill(-1);
data.documents.forEach((doc, number) => documentOf.fill(number, doc.start, doc.end));

/** The text that systems add after segments, and null for segments that they leave out, by "SYSTEM SEGMENT"; -1 is before the
 * first segment. @type {Map<string, (string|null)[]>} */
const gaps = new Map();
for (const [s, i, added] of data.gaps) gaps.set(`${s} ${i}`, [...(gaps.get(`${s} ${i}`) || []), added]);

/** @param {number} s @param {number} i */
const additions = (s, i) => (gaps.get(`${s} ${i}`) || []).filter((added) => added !== null);

/** @param {number} s @param {number} i */
const isLeftOut = (s, i) => Boolean(gaps.get(`${s} ${i}`)?.includes(null));

/** Create an element with attributes and children; texts are inserted as text, never as HTML.
 * @param {string} tag @param {Object<string, any>} [attributes] @param {...(Node|string|null)} children */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, String(value));
  }
  made.append(...children.filter((child) => child !== null).map((child) => /** @type {Node|string} */ (child)));
  return made;
}

/** @param {string} id @returns {HTMLElement} */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** A score as the command prints it, to one decimal, rounded as in Python: exact ties (x.25 and x.75) go to the even digit,
 * whereas toFixed rounds them up. @param {number|null} score */
function shown(score) {
  if (score === null) return "-";
  return Math.abs(score * 4) % 4 === 1 ? (Math.trunc(score * 10) / 10).toFixed(1) : score.toFixed(1);
}

const PEN = 12; // pixels: the size of letters in axes and legends
const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
pen.font = `${PEN}px system-ui, sans-serif`;

const KEPT = 10; // letters at the end of a long name that are shown wherever there is no room for all of it

/** A name, for an element that may be too narrow: its middle gives way to "…", and its end stays. @param {string} name @returns {(Node|string)[]} */
function fitting(name) {
  const letters = [...name];
  if (letters.length <= KEPT) return [name];
  const [start, end] = [letters.slice(0, -KEPT).join(""), letters.slice(-KEPT).join("")];
  const made = element("span", { class: "start" }, start);
  made.style.setProperty("--end", `${(pen.measureText(end).width / PEN).toFixed(2)}em`);
  return [made, end];
}

/** An id, which is shown in full where there is room. @param {string} id */
const identified = (id) => element("span", { class: "id", title: id }, ...fitting(id));

/** A name without its middle, so that it fits into a width in pixels; most of what is kept is the end, in which names differ.
 * @param {string} name @param {number} width */
function shortened(name, width) {
  const letters = [...name];
  let [made, kept] = [name, letters.length];
  while (kept > 4 && pen.measureText(made).width > width) {
    kept = Math.min(kept - 1, Math.ceil((kept * width) / pen.measureText(made).width));
    const start = Math.floor(kept / 3);
    made = `${letters.slice(0, start).join("")}…${letters.slice(start - kept).join("")}`;
  }
  return made;
}

/** The room for names beside an axis and in a selection, in pixels: at most `most`, and less on narrow screens. @param {number} most */
const room = (most) => Math.min(most, 0.3 * document.body.clientWidth);

/** Names for a selection. @param {string[]} names @returns {[string, string][]} */
const options = (names) => names.map((name, k) => [String(k), shortened(name, room(170))]);

/** @param {number} segment */
const documentName = (segment) => (documentOf[segment] < 0 ? "" : data.documents[documentOf[segment]].id);

/** Replace the tools in a form, keeping the focus on the same one. @param {HTMLElement} form @param {HTMLElement[]} tools */
function setTools(form, tools) {
  const controls = () => /** @type {NodeListOf<HTMLElement>} */ (form.querySelectorAll("select, input, button"));
  const at = [...controls()].findIndex((each) => each === document.activeElement);
  form.replaceChildren(...tools);
  controls()[at]?.focus();
}

/** A labelled selection. @param {string} words @param {[string, string][]} options value and text @param {string} value @param {(value: string) => void} change */
function choice(words, options, value, change) {
  const select = /** @type {HTMLSelectElement} */ (
    element(
      "select",
      { onchange: () => change(select.value) },
      ...options.map(([own, text]) => element("option", { value: own, selected: own === value }, text)),
    )
  );
  return element("label", {}, `${words} `, select);
}

/** A labelled text field; changes take effect after a short pause in typing. @param {string} words @param {string} type @param {string} value @param {(value: string) => void} change */
function field(words, type, value, change) {
  let timer = 0;
  const input = /** @type {HTMLInputElement} */ (
    element("input", {
      type,
      value,
      oninput: () => {
        clearTimeout(timer);
        timer = window.setTimeout(() => change(input.value), 150);
      },
    })
  );
  if (type === "number") input.step = "any";
  return element("label", {}, `${words} `, input);
}

/** The order of systems by a metric, best first. @param {number} metric */
function ordered(metric) {
  const { sign, system } = data.metrics[metric];
  const key = (/** @type {number} */ s) => (system[s] === null ? -Infinity : sign * Number(system[s]));
  return data.systems.map((_, s) => s).sort((a, b) => key(b) - key(a) || a - b);
}

/** Offer a file for download. @param {string} name @param {string} text */
function save(name, text) {
  const link = element("a", {
    href: URL.createObjectURL(new Blob([text], { type: "text/tab-separated-values" })),
    download: name,
  });
  link.click();
  URL.revokeObjectURL(/** @type {HTMLAnchorElement} */ (link).href);
}
