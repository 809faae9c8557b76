// The list of segments, and the tools above it.

/** One line of a segment: a label, and a text in the direction of its language.
 * @param {string} name @param {Node[]} nodes @param {string|null} language @param {string} [kind] */
const line = (name, nodes, language, kind = "") =>
  element(
    "div",
    { class: `text ${kind}` },
    element("span", { class: "whose" }, name),
    element(
      "p",
      { dir: "auto", lang: language },
      ...(nodes.some((node) => node.textContent) ? nodes : [element("i", { class: "mean" }, "(empty)")]),
    ),
  );

/** @param {number} i @returns {HTMLElement[]} the content of a segment's box */
function segmentParts(i) {
  const systems = state.all
    ? data.systems.map((_, s) => s)
    : state.systems.filter((s, k, all) => s >= 0 && all.indexOf(s) === k);
  const reference = data.references.length ? data.references[0][i] : null;
  const outputs = systems.map((s) => data.outputs[s][i]);
  const box = /** @type {HTMLInputElement} */ (
    element("input", { type: "checkbox", "aria-label": `Mark segment ${i + 1}` })
  );
  box.checked = marks.has(i);
  box.addEventListener("change", () => mark(i, box.checked));
  const name = documentName(i);
  const head = element(
    "h3",
    {},
    box,
    " ",
    element("a", { href: `#segment-${i + 1}` }, `Segment ${i + 1}`),
    ...(name ? [" ", element("a", { href: `#document-${documentOf[i] + 1}`, class: "document" }, name)] : []),
  );
  const scores = table(
    ["System", ...data.metrics.map((each) => each.title)],
    systems.map((s) => [data.systems[s], ...data.metrics.map((each) => shown(each.segments[s][i]))]),
    { class: "scores" },
  );
  return [
    head,
    scores,
    ...(data.source ? [line("source", [document.createTextNode(data.source[i])], data.source_lang, "source")] : []),
    ...data.references.map((each, k) =>
      line(
        data.references.length > 1 ? `reference ${k + 1}` : "reference",
        compared(each[i], outputs, "del"),
        data.target_lang,
        "reference",
      ),
    ),
    ...systems.map((s, k) =>
      line(
        data.systems[s],
        compared(data.outputs[s][i], reference !== null ? [reference] : k > 0 ? [outputs[0]] : [], "ins"),
        data.target_lang,
        "output",
      ),
    ),
    ...explained(i, systems),
  ];
}

/** Fill the box of a segment, if it is empty. @param {Element|null} box */
function fill(box) {
  if (!(box instanceof HTMLElement) || box.firstChild) return;
  box.style.minHeight = "";
  box.append(...segmentParts(Number(box.dataset.segment)));
}

/** Empty a box but keep its height, so that a page with many segments stays fast. @param {Element} box @param {number} height */
function empty(box, height) {
  if (!(box instanceof HTMLElement) || !box.firstChild) return;
  box.style.minHeight = `${height}px`;
  box.replaceChildren();
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

/** List the segments that the tools select; boxes are only filled while they are near the window. */
function listSegments() {
  const numbers = chosen();
  near.disconnect();
  const boxes = numbers.map((i) => element("article", { id: `segment-${i + 1}`, "data-segment": i }));
  byId("segment-list").replaceChildren(...boxes);
  boxes.forEach((box) => near.observe(box));
  byId("segment-count").textContent =
    `${numbers.length.toLocaleString("en")} of ${data.outputs[0].length.toLocaleString("en")} segments`;
}

/** Redraw the tools above the segments from `state`, and list the segments that they select. */
function showSegments() {
  const named = /** @type {[string, string][]} */ (data.systems.map((name, s) => [String(s), name]));
  const metrics = /** @type {[string, string][]} */ (data.metrics.map((each, m) => [String(m), each.title]));
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
  const two = state.systems[1] >= 0;
  const sorts = /** @type {[string, string][]} */ ([
    ["order", "order of the text"],
    ["score", "score"],
    ["length", "length of the output"],
    ...(two ? [["difference", "difference of the two systems"]] : []),
    ...(metrics.length > 1 ? [["disagreement", "disagreement of two metrics"]] : []),
  ]);
  if (!sorts.some(([name]) => name === state.sort)) state.sort = "order";
  setTools(byId("segment-tools"), [
    choice("System", named, String(state.systems[0]), (value) => set({ systems: [Number(value), state.systems[1]] })),
    choice(
      "Compare with",
      [["-1", "none"], ...named, ["all", "all systems"]],
      state.all ? "all" : String(state.systems[1]),
      (value) => set(value === "all" ? { all: true } : { all: false, systems: [state.systems[0], Number(value)] }),
    ),
    choice("Sort by", sorts, state.sort, (value) => set({ sort: value, descending: false })),
    choice("Metric", metrics, String(state.metric), (value) => set({ metric: Number(value) })),
    ...(state.sort === "disagreement"
      ? [choice("against", metrics, String(state.other), (value) => set({ other: Number(value) }))]
      : []),
    choice(
      "Order",
      [
        ["up", orders()[0]],
        ["down", orders()[1]],
      ],
      state.descending ? "down" : "up",
      (value) => set({ descending: value === "down" }),
    ),
    field("Text", "search", state.text, (value) => list({ text: value })),
    ...(data.documents.length
      ? [
          choice(
            "Document",
            [["-1", "all"], .../** @type {[string, string][]} */ (data.documents.map((doc, d) => [String(d), doc.id]))],
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
  ]);
  listSegments();
}
