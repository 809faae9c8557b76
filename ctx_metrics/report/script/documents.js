// The list of documents, worst first, and the view of a document in reading order.

/** The number of the open document; -1 for none. */
let reading = -1;

const LONG = 500; // segments of a document that are shown at first, and with each click on the button below them
let readTo = LONG;

/** Open a document, or the list of all. @param {number} d */
function read(d) {
  [reading, readTo] = [d, LONG];
  showDocuments();
}

function showDocuments() {
  const set = (/** @type {Partial<typeof state>} */ change) => {
    Object.assign(state, change);
    showDocuments();
  };
  setTools(byId("document-tools"), sharedTools(set));
  const open = reading >= 0;
  byId("document-text").replaceChildren(...(open ? documentParts(reading) : []));
  byId("document-table").replaceChildren(...(open ? [] : [documentTable()]));
}

/** An element that can be scrolled sideways, also with the keyboard. @param {HTMLElement} child @param {string} name */
const scrolled = (child, name) =>
  element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, child);

/** A score as text and as a bar, from the lowest to the highest of all. @param {number|null} score @param {[number, number]} range */
function bar(score, [low, high]) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries({
    viewBox: "0 0 100 8",
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  }))
    made.setAttribute(name, value);
  const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  rect.setAttribute("width", String(score === null ? 0 : Math.max(1, (100 * (score - low)) / (high - low || 1))));
  rect.setAttribute("height", "8");
  made.append(rect);
  return element("span", { class: "bar" }, element("span", {}, shown(score)), made);
}

/** @param {(number|null)[][]} scores @returns {[number, number]} */
const rangeOf = (scores) =>
  scores
    .flatMap((each) => each.filter((score) => score !== null).map(Number))
    .reduce(([a, b], score) => [Math.min(a, score), Math.max(b, score)], [Infinity, -Infinity]);

function documentTable() {
  const [system, other] = state.systems;
  const { title, documents, sign } = data.metrics[state.metric];
  const score = (/** @type {number} */ d, s = system) => documents?.[s][d] ?? null;
  const key = (/** @type {number} */ d) => (score(d) === null ? Infinity : Number(score(d)) * sign);
  const order = data.documents.map((_, d) => d).sort((a, b) => key(a) - key(b) || a - b);
  const range = rangeOf(documents || []);
  const others = data.metrics.filter((_, m) => m !== state.metric);
  const compare = other >= 0;
  const difference = (/** @type {number} */ d) => {
    const [a, b] = [score(d), score(d, other)];
    return a === null || b === null ? "-" : `${a < b ? "" : "+"}${shown(a - b)}`;
  };
  const rows = order.map((d) => [
    element("a", { href: `${HERE}document-${d + 1}` }, identified(data.documents[d].id)),
    String(data.documents[d].end - data.documents[d].start),
    bar(score(d), range),
    ...(compare ? [difference(d)] : []),
    ...others.map((each) => shown(each.documents?.[system][d] ?? null)),
  ]);
  const versus = compare ? [`difference from ${data.systems[other]}`] : [];
  const made = table(["Document", "Segments", title, ...versus, ...others.map((each) => each.title)], rows);
  made.prepend(element("caption", {}, `Scores of ${data.systems[system]}, worst documents by ${title} first`));
  return scrolled(sortable(made), "Documents");
}

/** A document in reading order: source, reference and outputs side by side, with each output's score below it. @param {number} d @returns {HTMLElement[]} */
function documentParts(d) {
  const { id, start, end: last } = data.documents[d];
  const end = Math.min(last, start + readTo);
  const more = () => {
    readTo += LONG;
    showDocuments();
    /** @type {HTMLElement|null} */ (
      document.querySelector(`#document-text a[href="${HERE}segment-${end + 1}"]`)
    )?.focus();
  };
  const metric = data.metrics[state.metric];
  const systems = state.systems.filter((s) => s >= 0);
  const range = rangeOf(metric.segments);
  const cell = (/** @type {(Node|string)[]} */ nodes, /** @type {string|null} */ language) =>
    element("td", {}, element("p", { dir: "auto", lang: language }, ...nodes));
  const output = (/** @type {number} */ s, /** @type {number} */ i) => {
    const made = cell(markedOutput(i, s, data.references.length ? data.references[0][i] : null), data.target_lang);
    made.append(bar(metric.segments[s][i], range));
    return made;
  };
  const added = (/** @type {number} */ i) =>
    systems.some((s) => additions(s, i).length)
      ? [
          [
            "added",
            ...(data.source ? [""] : []),
            ...data.references.map(() => ""),
            ...systems.map((s) =>
              cell([element("span", { class: "gap" }, additions(s, i).join(" "))], data.target_lang),
            ),
          ],
        ]
      : [];
  const windows = data.windows.flatMap((each) =>
    systems.map((s) => ({
      title: data.metrics[each.metric].title,
      s,
      rows: each.rows[s].filter(([first, last]) => first < end && last > start),
    })),
  );
  const score = (/** @type {number} */ s) => `${metric.title} ${shown(metric.documents?.[s][d] ?? null)}`;
  const texts = table(
    [
      "#",
      ...(data.source ? ["source"] : []),
      ...data.references.map((_, k) => (k ? `reference ${k + 1}` : "reference")),
      ...systems.map((s) => `${data.systems[s]} (${score(s)})`),
    ],
    [
      ...(start ? [] : added(-1)),
      ...Array.from({ length: end - start }, (_, k) => start + k).flatMap((i) => [
        [
          element("a", { href: `${HERE}segment-${i + 1}` }, String(i + 1)),
          ...(data.source ? [cell([data.source[i]], data.source_lang)] : []),
          ...data.references.map((each) => cell([each[i]], data.target_lang)),
          ...systems.map((s) => output(s, i)),
        ],
        ...added(i),
      ]),
    ],
    { class: "reading" },
  );
  const labels = [
    "",
    ...(data.source ? ["source"] : []),
    ...data.references.map((_, k) => (k ? `reference ${k + 1}` : "reference")),
  ];
  labels.push(...systems.map((s) => data.systems[s])); // before each text on a narrow screen
  for (const row of texts.querySelectorAll("tbody tr"))
    [...row.children].forEach((each, k) => each.setAttribute("data-label", each.textContent ? labels[k] : ""));
  return [
    element("p", {}, element("a", { href: `${HERE}documents` }, "All documents")),
    element("h3", { tabindex: "-1", id: "document-heading" }, id),
    scrolled(texts, `Text of ${id}`),
    ...(end < last
      ? [
          element(
            "button",
            { type: "button", onclick: more },
            `Show more (${(end - start).toLocaleString("en")} of ${(last - start).toLocaleString("en")} segments shown)`,
          ),
        ]
      : []),
    ...windows
      .filter((each) => each.rows.length)
      .map(({ title, s, rows }) => {
        const made = table(
          ["Segments", "Score"],
          rows.map(([first, last, score]) => [segmentsNamed(first, last), bar(score, range)]),
          { class: "windows" },
        );
        made.prepend(element("caption", {}, `Windows of ${title} for ${data.systems[s]}`));
        return made;
      }),
  ];
}

/** @param {number} first @param {number} last exclusive */
const segmentsNamed = (first, last) => (last - first > 1 ? `${first + 1}-${last}` : String(first + 1));
