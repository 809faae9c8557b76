// The list of segments, and the tools above it.

const BESIDE = 4; // scores beside an output; the details have all

/** One line of a segment: a label, a text in the direction of its language, and scores beside it.
 * @param {string} name @param {(Node|string)[]} nodes @param {string|null} language @param {string} kind @param {HTMLElement[]} [scores] */
const line = (name, nodes, language, kind, scores = []) =>
  element(
    "div",
    { class: `text ${kind}` },
    element("span", { class: "whose", title: name }, ...fitting(name)),
    element(
      "p",
      { dir: "auto", lang: language },
      ...(nodes.some((node) => (typeof node === "string" ? node : node.textContent))
        ? nodes
        : [element("i", { class: "empty" }, "(empty)")]),
    ),
    ...(scores.length ? [element("span", { class: "beside" }, ...scores)] : []),
  );

/** The metrics whose scores stand beside an output, with the selected one first. */
function metricsBeside() {
  const first = state.sort === "disagreement" ? [state.metric, state.other] : [state.metric];
  return [...new Set([...first, ...data.metrics.keys()])].slice(0, BESIDE);
}

/** An output's scores. The selected metric's is redder the worse it is among all segments, and has its difference from the
 * first output's. @param {number} i @param {number} s @param {number} first */
const scoresBeside = (i, s, first) =>
  metricsBeside().map((m, k) => {
    const { title, segments } = data.metrics[m];
    const [score, before] = [segments[s][i], segments[first][i]];
    const made = element(
      "span",
      { class: k ? "score" : "score selected" },
      element("span", { class: "metric" }, title),
      shown(score),
      k || s === first || score === null || before === null
        ? null
        : element("small", {}, `${score < before ? "" : "+"}${shown(score - before)}`),
    );
    if (!k && score !== null) made.style.setProperty("--share", ranks(m, s)[i].toFixed(2));
    return made;
  });

/** An output, in which words or error spans are marked, or that it is left out. @param {number} i @param {number} s @param {string|null} other the text that it is compared with */
function markedOutput(i, s, other) {
  const text = data.outputs[s][i];
  if (isLeftOut(s, i)) return [element("span", { class: "gap" }, "left out")];
  if (state.marks === "words") return compared(text, other === null ? [] : [other], "ins");
  return spanned(text, data.marked[Number(state.marks)].spans[`${s} ${i}`] || []);
}

/** The numbers of the segments whose details are open. @type {Set<number>} */
const detailed = new Set();

/** @param {number} i @returns {HTMLElement[]} the content of a segment's box */
function segmentParts(i) {
  const systems = systemsShown();
  const reference = data.references.length ? data.references[0][i] : null;
  const outputs = systems.map((s) => data.outputs[s][i]);
  const box = /** @type {HTMLInputElement} */ (
    element("input", { type: "checkbox", "aria-label": `Mark segment ${i + 1}` })
  );
  box.checked = marks.has(i);
  box.addEventListener("change", () => mark(i, box.checked));
  const name = documentName(i);
  const details = element("div", { class: "details", hidden: !detailed.has(i) });
  const more = element(
    "button",
    {
      type: "button",
      class: "more",
      "aria-expanded": String(detailed.has(i)),
      "aria-label": `Details of segment ${i + 1}`,
    },
    "Details",
  );
  const fillDetails = () => details.replaceChildren(...(detailed.has(i) ? detailsOf(i, systems) : []));
  more.addEventListener("click", () => {
    if (!detailed.delete(i)) detailed.add(i);
    details.hidden = !detailed.has(i);
    more.setAttribute("aria-expanded", String(!details.hidden));
    fillDetails();
  });
  fillDetails();
  const texts = element(
    "div",
    { class: "texts" },
    ...(data.source ? [line("source", [data.source[i]], data.source_lang, "source")] : []),
    ...(reference === null ? [] : [line("reference", referenceMarked(i, 0, outputs), data.target_lang, "reference")]),
    ...systems.flatMap((s, k) => [
      line(
        data.systems[s],
        markedOutput(i, s, reference ?? (k > 0 ? outputs[0] : null)),
        data.target_lang,
        "output",
        scoresBeside(i, s, systems[0]),
      ),
      ...additions(s, i).map((added) => line("added after", [added], data.target_lang, "added")),
    ]),
    details,
  );
  return [
    element(
      "div",
      { class: "head" },
      element(
        "h3",
        {},
        element(
          "a",
          { href: `${HERE}segment-${i + 1}` },
          element("span", { class: "said" }, "Segment "),
          String(i + 1),
        ),
      ),
      element("label", { class: "mark", title: "Mark this segment" }, box),
      more,
      ...(name
        ? [element("a", { href: `${HERE}document-${documentOf[i] + 1}`, class: "document" }, identified(name))]
        : []),
    ),
    texts,
  ];
}

/** A reference, in which the words are marked that no output on screen has. @param {number} i @param {number} k @param {string[]} outputs */
const referenceMarked = (i, k, outputs) =>
  state.marks === "words" ? compared(data.references[k][i], outputs, "del") : [data.references[k][i]];

/** All scores, the other references, and what explains the scores. @param {number} i @param {number[]} systems */
const detailsOf = (i, systems) => [
  ...data.references.slice(1).map((each, k) => line(`reference ${k + 2}`, [each[i]], data.target_lang, "reference")),
  table(
    ["System", ...data.metrics.map((each) => each.title)],
    systems.map((s) => [data.systems[s], ...data.metrics.map((each) => shown(each.segments[s][i]))]),
    { class: "scores" },
  ),
  ...why(i, systems),
];

const AT_ONCE = 10; // segments in a part of the list, which is filled and emptied as a whole

/** The numbers of the segments that are listed, in order. @type {number[]} */
let listed = [];

/** Fill a part of the list, if it is empty. @param {Element} part */
function fill(part) {
  if (!(part instanceof HTMLElement) || part.firstChild) return;
  const first = Number(part.dataset.first);
  part.append(
    ...listed.slice(first, first + AT_ONCE).map((i, k) =>
      element(
        "article",
        {
          id: `segment-${i + 1}`,
          "data-segment": i,
          tabindex: "-1",
          "aria-label": `Segment ${i + 1}`,
          "aria-posinset": first + k + 1,
          "aria-setsize": listed.length,
        },
        ...segmentParts(i),
      ),
    ),
  );
  part.style.minHeight = "";
}

/** Empty a part of the list but keep its height. @param {Element} part @param {number} height */
function empty(part, height) {
  if (!(part instanceof HTMLElement) || !part.firstChild || part.contains(document.activeElement)) return;
  part.style.minHeight = `${height}px`;
  part.replaceChildren();
}

let printing = false;
const near = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) fill(entry.target);
      else if (!printing) empty(entry.target, entry.boundingClientRect.height);
    }
  },
  { rootMargin: "1500px" },
);

/** The box of a segment that is listed; its part of the list is filled. @param {number} i */
function boxOf(i) {
  const part = byId("segment-list").children[Math.floor(listed.indexOf(i) / AT_ONCE)];
  if (part) fill(part);
  return document.getElementById(`segment-${i + 1}`);
}

/** List the segments that the tools select; only the parts of the list near the window are filled. */
function listSegments() {
  listed = chosen();
  near.disconnect();
  const parts = Array.from({ length: Math.ceil(listed.length / AT_ONCE) }, (_, k) =>
    element("div", { "data-first": k * AT_ONCE }),
  );
  byId("segment-list").replaceChildren(...parts);
  if (parts.length) fill(parts[0]);
  const height = parts[0]?.offsetHeight || 0; // the others are about as high
  parts.slice(1).forEach((part) => (part.style.minHeight = `${height}px`));
  parts.forEach((part) => near.observe(part));
  const all = data.outputs[0].length;
  byId("segment-count").textContent =
    listed.length === all
      ? `${all.toLocaleString("en")} ${all === 1 ? "segment" : "segments"}`
      : !listed.length
        ? "No segment matches."
        : `${listed.length.toLocaleString("en")} of ${all.toLocaleString("en")} segments`;
  byId("segment-heads").replaceChildren(
    ...metricsBeside().map((m, k) => {
      const { title } = data.metrics[m];
      return element("span", { class: k ? "score" : "score selected", title }, title);
    }),
  );
  byId("segment-legend").replaceChildren(
    ...(state.marks !== "words"
      ? ["Errors: ", ...["critical", "major", "minor"].flatMap((each) => [element("mark", { class: each }, each), " "])]
      : data.references.length
        ? [element("ins", {}, "not in the reference"), " ", element("del", {}, "in no output shown")]
        : [element("ins", {}, "not in the first output")]),
  );
}

function showSegments() {
  const set = (/** @type {Partial<typeof state>} */ change) => {
    Object.assign(state, change);
    showSegments();
    scrollTo(0, 0);
  };
  const list = (/** @type {Partial<typeof state>} */ change) => {
    Object.assign(state, change);
    listSegments();
    scrollTo(0, 0);
  };
  const sorts = /** @type {[string, string][]} */ ([
    ["score", "score"],
    ...(state.systems[1] >= 0 ? [["difference", "difference between the two systems"]] : []),
    ...(data.metrics.length > 1 ? [["disagreement", "disagreement between two metrics"]] : []),
    ...(state.marks !== "words" ? [["errors", "errors"]] : []),
    ["length", "output length"],
    ["order", "text order"],
  ]);
  if (!sorts.some(([name]) => name === state.sort)) state.sort = "score";
  const filters = byId("segment-tools").querySelector("details");
  const filtered = state.document >= 0 || state.least || state.most || state.marked;
  setTools(byId("segment-tools"), [
    ...sharedTools(set, true),
    ...(state.sort === "disagreement" ? [secondMetric(set)] : []),
    choice("Sort by", sorts, state.sort, (value) => set({ sort: value, descending: false })),
    choice(
      "Order",
      [
        ["up", orders()[0]],
        ["down", orders()[1]],
      ],
      state.descending ? "down" : "up",
      (value) => set({ descending: value === "down" }),
    ),
    ...(data.marked.length
      ? [
          choice(
            "Highlight",
            [
              .../** @type {[string, string][]} */ (
                data.marked.map((each, k) => [String(k), `errors marked by ${each.title}`])
              ),
              ["words", "words that differ"],
            ],
            state.marks,
            (value) => set({ marks: value }),
          ),
        ]
      : []),
    field("Search", "search", state.text, (value) => list({ text: value })),
    element(
      "details",
      { open: Boolean(filtered || filters?.open) },
      element("summary", {}, "Filters and marks"),
      ...(data.documents.length
        ? [
            choice(
              "Document",
              [
                ["-1", "all"],
                ...options(data.documents.map((doc) => doc.id)),
              ],
              String(state.document),
              (value) => list({ document: Number(value) }),
            ),
          ]
        : []),
      field("Score from", "number", state.least, (value) => list({ least: value })),
      field("to", "number", state.most, (value) => list({ most: value })),
      element(
        "label",
        {},
        element("input", { type: "checkbox", checked: state.marked, onchange: () => list({ marked: !state.marked }) }),
        " only marked segments",
      ),
      element("button", { type: "button", onclick: saveMarked }, "Save marked segments as TSV"),
    ),
  ]);
  listSegments();
}
