// Explanations of scores: token matches, error spans, parts and windows.

/** @type {Map<Match, Map<number, number>>} */
const places = new Map();

/** The index in a metric's matches of each segment that has any. @param {Match} matches */
function placesOf(matches) {
  let found = places.get(matches);
  if (!found) places.set(matches, (found = new Map(matches.segments.map((i, at) => [i, at]))));
  return found;
}

/** Windows, token matches and parts, as far as the report has them. @param {number} i @param {number[]} systems @returns {HTMLElement[]} */
function why(i, systems) {
  /** @type {HTMLElement[]} */
  const found = [];
  const add = (/** @type {string} */ name, /** @type {(Node|string)[]} */ nodes, language = "en") =>
    found.push(line(name, nodes, language, "why"));
  for (const s of systems) {
    for (const each of data.windows) {
      const around = each.rows[s].filter(([first, last]) => first <= i && i < last);
      const told = around.map(
        ([first, last, score]) => `window of segments ${segmentsNamed(first, last)}: ${shown(score)}`,
      );
      if (told.length) add(`${data.metrics[each.metric].title}: ${data.systems[s]}`, [told.join(", ")]);
    }
    for (const each of data.matches) {
      const at = placesOf(each).get(i),
        pair = at === undefined ? null : each.pairs[s][at];
      if (at === undefined || !pair) continue;
      const [number, ofOutput, outputWeights, ofReference, referenceWeights] = pair;
      const title = data.metrics[each.metric].title,
        which = data.references.length > 1 ? `reference ${number + 1}` : "reference",
        language = data.target_lang || "";
      if (ofReference)
        add(
          `${title}: ${which} tokens in ${data.systems[s]}`,
          shaded(data.references[number][i], each.references[number][at], ofReference, referenceWeights),
          language,
        );
      if (ofOutput)
        add(
          `${title}: ${data.systems[s]} tokens in ${which}`,
          shaded(data.outputs[s][i], each.outputs[s][at], ofOutput, outputWeights),
          language,
        );
    }
    const parts = Object.entries(data.parts[`${s} ${i}`] || {});
    if (parts.length)
      add(`parts of the score: ${data.systems[s]}`, [parts.map(([name, value]) => `${name} ${shown(value)}`).join(", ")]);
  }
  return found;
}

/** A text whose tokens are shaded by their best match, which is also their title; the mean of the matches follows the text.
 * @param {string} text @param {number[]} ends starts and ends by turns, in characters as Python counts them
 * @param {number[]} cosines in millionths @param {number[]|null} weights in millionths, null where all are alike */
function shaded(text, ends, cosines, weights) {
  const characters = [...text];
  /** @type {Node[]} */
  const nodes = [];
  let [at, sum, total] = [0, 0, 0];
  cosines.forEach((cosine, k) => {
    const [start, end] = [Math.max(at, ends[2 * k]), Math.max(at, ends[2 * k + 1])];
    const weight = weights ? weights[k] : 1;
    sum += weight * cosine;
    total += weight;
    nodes.push(document.createTextNode(characters.slice(at, start).join("")));
    const token = element(
      "span",
      {
        class: "token",
        "data-match": cosine / 1e6,
        title: `best match ${(cosine / 1e6).toFixed(3)}` + (weights ? `, weight ${(weight / 1e6).toFixed(3)}` : ""),
      },
      characters.slice(start, end).join(""),
    );
    token.style.setProperty("--match", (cosine / 1e6).toFixed(3));
    nodes.push(token);
    at = end;
  });
  nodes.push(document.createTextNode(characters.slice(at).join("")));
  nodes.push(element("span", { class: "mean", title: "mean of the matches" }, ` ${shown(sum / total / 1e4)}`));
  return nodes;
}

/** A text with its error spans marked; positions count characters as Python does. A span without a place stands after the text.
 * @param {string} text @param {Span[]} spans */
function spanned(text, spans) {
  const characters = [...text];
  /** @type {(Node|string)[]} */
  const nodes = [];
  let at = 0;
  for (const [first, last, severity] of [...spans].sort((a, b) => (a[0] ?? Infinity) - (b[0] ?? Infinity))) {
    const [start, end] = [Math.max(at, first ?? characters.length), Math.max(at, last ?? characters.length)];
    const marked = first === null ? "(missing)" : characters.slice(start, end).join("");
    nodes.push(characters.slice(at, start).join(""));
    nodes.push(element("mark", { class: severity, title: severity }, marked));
    at = end;
  }
  return [...nodes, characters.slice(at).join("")];
}
