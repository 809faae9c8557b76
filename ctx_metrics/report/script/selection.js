// Selects the segments to show, and sorts them.

const state = {
  systems: [ordered(0)[0], -1],
  all: false,
  sort: "score",
  metric: 0,
  other: Math.min(1, data.metrics.length - 1),
  marks: data.marked.length ? "0" : "words",
  descending: false,
  text: "",
  document: -1,
  least: "",
  most: "",
  marked: false,
};

/** The systems whose outputs are shown. */
const systemsShown = () => (state.all ? data.systems.map((_, s) => s) : state.systems.filter((s) => s >= 0));

/** The selections that all parts of the page share. @param {(change: Partial<typeof state>) => void} set @param {boolean} [all] whether all systems can be selected */
function sharedTools(set, all = false) {
  const named = options(data.systems);
  const metrics = /** @type {[string, string][]} */ (data.metrics.map((each, m) => [String(m), each.title]));
  const [system, other] = state.systems;
  const pair = [
    choice("System", named, String(system), (value) =>
      set({ systems: [Number(value), Number(value) === other ? -1 : other] }),
    ),
    choice(
      "Compare with",
      [
        ["-1", "none"],
        ...named.filter((_, s) => s !== system),
        .../** @type {[string, string][]} */ (all ? [["all", "all systems"]] : []),
      ],
      all && state.all ? "all" : String(other),
      (value) => set(value === "all" ? { all: true } : { all: false, systems: [system, Number(value)] }),
    ),
  ];
  const metric = choice("Metric", metrics, String(state.metric), (value) => set({ metric: Number(value) }));
  return [...(data.systems.length > 1 ? pair : []), metric];
}

/** The second metric. @param {(change: Partial<typeof state>) => void} set */
const secondMetric = (set) =>
  choice(
    "Second metric",
    data.metrics.map((each, m) => [String(m), each.title]),
    String(state.other),
    (value) => set({ other: Number(value) }),
  );

/** What comes first in ascending and in descending order, for the current sort criterion. @returns {[string, string]} */
function orders() {
  const [one, other] = state.systems.map((s) => data.systems[s]);
  const [metric, against] = [state.metric, state.other].map((m) => data.metrics[m].title);
  switch (state.sort) {
    case "order":
      return ["first to last", "last to first"];
    case "length":
      return ["shortest first", "longest first"];
    case "errors":
      return ["most errors first", "fewest errors first"];
    case "difference":
      return [`${other} furthest ahead`, `${one} furthest ahead`];
    case "disagreement":
      return [`${metric} ranks it lower than ${against}`, `${metric} ranks it higher than ${against}`];
    default:
      return ["worst first", "best first"];
  }
}

/** The value by which a segment is sorted; null comes last.
 * @param {number} segment @returns {number|null} */
function sortKey(segment) {
  const [a, b] = state.systems;
  const score = (/** @type {number} */ metric, /** @type {number} */ system) =>
    data.metrics[metric].segments[system][segment];
  if (state.sort === "order") return segment;
  if (state.sort === "length") return data.outputs[a][segment].length;
  if (state.sort === "errors") return -errorWeight(a, segment);
  if (state.sort === "score") {
    const own = score(state.metric, a);
    return own === null ? null : data.metrics[state.metric].sign * own;
  }
  if (state.sort === "difference") {
    const [one, other] = [score(state.metric, a), b < 0 ? null : score(state.metric, b)];
    return one === null || other === null ? null : data.metrics[state.metric].sign * (one - other);
  }
  return ranks(state.metric, a)[segment] - ranks(state.other, a)[segment]; // disagreement
}

/** How bad the marked errors of an output are: a major one counts five times, a critical one ten. @param {number} system @param {number} segment */
function errorWeight(system, segment) {
  const spans = data.marked[Number(state.marks)]?.spans[`${system} ${segment}`] || [];
  return spans.reduce((sum, [, , severity]) => sum + ({ critical: 10, major: 5 }[severity] || 1), 0);
}

/** @type {Map<string, Float64Array>} */
const kept = new Map();

/** For each segment, the share of segments with a worse score, for one system and metric. @param {number} metric @param {number} system */
function ranks(metric, system) {
  const key = `${metric} ${system}`;
  let found = kept.get(key);
  if (!found) {
    const scores = data.metrics[metric].segments[system].map((each) =>
      each === null ? -Infinity : each * data.metrics[metric].sign,
    );
    const sorted = Float64Array.from(scores).sort();
    found = Float64Array.from(scores, (score) => {
      let [low, high] = [0, sorted.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (sorted[middle] < score) low = middle + 1;
        else high = middle;
      }
      return low / sorted.length;
    });
    kept.set(key, found);
  }
  return found;
}

/** The numbers of the segments to show, sorted. @returns {number[]} */
function chosen() {
  const wanted = state.text.toLocaleLowerCase();
  const systems = systemsShown();
  const scores = data.metrics[state.metric].segments[state.systems[0]];
  const [least, most] = [state.least, state.most].map((text) => (text.trim() === "" ? null : Number(text)));
  const numbers = [];
  for (let i = 0; i < data.outputs[0].length; i++) {
    if (state.marked && !marks.has(i)) continue;
    if (state.document >= 0 && documentOf[i] !== state.document) continue;
    const score = scores[i];
    if (least !== null && (score === null || score < least)) continue;
    if (most !== null && (score === null || score > most)) continue;
    if (wanted) {
      const texts = [
        data.source ? data.source[i] : "",
        ...data.references.map((each) => each[i]),
        ...systems.map((s) => data.outputs[s][i]),
      ];
      if (!texts.some((text) => text.toLocaleLowerCase().includes(wanted))) continue;
    }
    numbers.push(i);
  }
  if (state.sort === "order" && !state.descending) return numbers;
  const keys = new Map(numbers.map((i) => [i, sortKey(i)]));
  return numbers.sort((one, other) => {
    const [a, b] = [keys.get(one) ?? null, keys.get(other) ?? null];
    if (a === null || b === null) return Number(a === null) - Number(b === null) || one - other;
    return (state.descending ? b - a : a - b) || one - other;
  });
}
