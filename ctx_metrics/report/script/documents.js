// The list of documents, worst first, and the view of a document in reading order.

/** The number of the open document; -1 for none. */
let reading = -1;

function showDocuments() {
  const named = /** @type {[string, string][]} */ (data.systems.map((name, s) => [String(s), name]));
  const metrics = /** @type {[string, string][]} */ (data.metrics.map((each, m) => [String(m), each.title]));
  const [system, other] = state.systems;
  const set = (/** @type {Partial<typeof state>} */ change) => {
    Object.assign(state, change);
    showDocuments();
  };
  setTools(byId("document-tools"), [
    choice("System", named, String(system), (value) => set({ systems: [Number(value), other] })),
    choice("Compare with", [["-1", "none"], ...named], String(other), (value) =>
      set({ systems: [system, Number(value)] }),
    ),
    choice("Metric", metrics, String(state.metric), (value) => set({ metric: Number(value) })),
  ]);
  const open = reading >= 0;
  byId("document-text").replaceChildren(...(open ? documentParts(reading) : []));
  byId("document-table").replaceChildren(
    ...(open ? [] : [element("p", {}, `Worst documents first, by ${data.metrics[state.metric].title}.`), documentTable()]),
  );
}

function documentTable() {
  const system = state.systems[0];
  const key = (/** @type {number} */ d) => {
    const score = data.metrics[state.metric].documents?.[system][d] ?? null;
    return score === null ? Infinity : score * data.metrics[state.metric].sign;
  };
  const order = data.documents.map((_, d) => d).sort((a, b) => key(a) - key(b) || a - b);
  const rows = order.map((d) => [
    element("a", { href: `#document-${d + 1}` }, data.documents[d].id),
    String(data.documents[d].end - data.documents[d].start),
    ...data.metrics.map((each) => shown(each.documents?.[system][d] ?? null)),
  ]);
  return sortable(table(["Document", "Segments", ...data.metrics.map((each) => each.title)], rows));
}

/** A document in reading order: source, reference and outputs side by side, with a bar for each score. @param {number} d @returns {HTMLElement[]} */
function documentParts(d) {
  const { id, start, end } = data.documents[d];
  const metric = data.metrics[state.metric];
  const systems = state.systems.filter((s, k, all) => s >= 0 && all.indexOf(s) === k);
  const numbers = Array.from({ length: end - start }, (_, k) => start + k);
  const every = data.metrics[state.metric].segments
    .flatMap((each) => each.filter((score) => score !== null))
    .map(Number);
  const [low, high] = every.reduce(([a, b], score) => [Math.min(a, score), Math.max(b, score)], [Infinity, -Infinity]);
  const columns = [
    ...(data.source ? ["source"] : []),
    ...data.references.map((_, k) => (k ? `reference ${k + 1}` : "reference")),
    ...systems.map((s) => data.systems[s]),
  ];
  const cell = (/** @type {string} */ text, /** @type {string|null} */ language) =>
    element("td", { dir: "auto", lang: language }, text);
  const bar = (/** @type {number|null} */ score) =>
    element(
      "td",
      { class: "bar" },
      score === null ? "-" : shown(score),
      ...(score === null ? [] : [element("meter", { min: low, max: high, value: score, "aria-hidden": "true" })]),
    );
  const windows = data.windows.flatMap((each) =>
    systems.map((s) => ({
      title: data.metrics[each.metric].title,
      s,
      rows: each.rows[s].filter(([first, last]) => first < end && last > start),
    })),
  );
  return [
    element("p", {}, element("a", { href: "#documents" }, "All documents")),
    element("h3", { tabindex: "-1", id: "document-heading" }, id),
    table(
      ["#", ...columns, ...systems.map((s) => `${metric.title}, ${data.systems[s]}`)],
      numbers.map((i) => [
        element("a", { href: `#segment-${i + 1}` }, String(i + 1)),
        ...(data.source ? [cell(data.source[i], data.source_lang)] : []),
        ...data.references.map((each) => cell(each[i], data.target_lang)),
        ...systems.map((s) => cell(data.outputs[s][i], data.target_lang)),
        ...systems.map((s) => bar(metric.segments[s][i])),
      ]),
      { class: "reading" },
    ),
    ...windows
      .filter((each) => each.rows.length)
      .map(({ title, s, rows }) => {
        const made = table(
          ["Segments", "Score"],
          rows.map(([first, last, score]) => [segmentsNamed(first, last), bar(score)]),
          { class: "windows" },
        );
        made.prepend(element("caption", {}, `Windows of ${title}, ${data.systems[s]}`));
        return made;
      }),
  ];
}

/** @param {number} first @param {number} last exclusive */
const segmentsNamed = (first, last) => (last - first > 1 ? `${first + 1}-${last}` : String(first + 1));
