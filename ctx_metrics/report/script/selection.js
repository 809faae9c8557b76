// Selects the segments to show, and sorts them.

const state = {
  systems: [0, data.systems.length > 1 ? 1 : -1],
  all: false,
  sort: "order",
  metric: 0,
  other: Math.min(1, data.metrics.length - 1),
  descending: false,
  text: "",
  document: -1,
  least: "",
  most: "",
  marked: false,
};

/** What comes first in ascending and in descending order, for the current sort criterion. @returns {[string, string]} */
function orders() {
  const [one, other] = state.systems.map((s) => data.systems[s]);
  const [metric, against] = [state.metric, state.other].map((m) => data.metrics[m].title);
  switch (state.sort) {
    case "order":
      return ["from the first", "from the last"];
    case "length":
      return ["shortest first", "longest first"];
    case "difference":
      return [`${other} is furthest ahead`, `${one} is furthest ahead`];
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
  const systems = state.all ? data.systems.map((_, s) => s) : state.systems.filter((s) => s >= 0);
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
