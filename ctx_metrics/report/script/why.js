// Explanations of scores: token matches, error spans, parts and windows.

/** @type {Map<Match, Map<number, number>>} */
const places = new Map();

/** The index in a metric's matches of each segment that has any. @param {Match} matches */
function placesOf(matches) {
  let found = places.get(matches);
  if (!found) places.set(matches, (found = new Map(matches.segments.map((i, at) => [i, at]))));
  return found;
}

/** The box that explains a segment's scores, open for one or two systems; [] if the report has no explanation. @param {number} i @param {number[]} systems @returns {HTMLElement[]} */
function explained(i, systems) {
  const known = data.windows.length || data.matches.length || systems.some((s) => data.details[`${s} ${i}`]);
  if (!known) return [];
  const box = /** @type {HTMLDetailsElement} */ (element("details", {}, element("summary", {}, "Why")));
  const show = () => {
    if (box.open && box.children.length === 1) box.append(...why(i, systems));
  };
  box.open = systems.length <= 2;
  show();
  box.addEventListener("toggle", show);
  return [box];
}

/** Windows, token matches, error spans and parts, as far as the report has them. @param {number} i @param {number[]} systems @returns {HTMLElement[]} */
function why(i, systems) {
  const shownParts = [];
  for (const s of systems) {
    for (const each of data.windows) {
      const around = each.rows[s].filter(([first, last]) => first <= i && i < last);
      if (around.length)
        shownParts.push(
          line(
            `${data.metrics[each.metric].title}: ${data.systems[s]}`,
            [
              document.createTextNode(
                around
                  .map(([first, last, score]) => `window of segments ${segmentsNamed(first, last)}: ${shown(score)}`)
                  .join(", "),
              ),
            ],
            "en",
            "why",
          ),
        );
    }
    for (const each of data.matches) {
      const at = placesOf(each).get(i),
        pair = at === undefined ? null : each.pairs[s][at];
      if (at === undefined || !pair) continue;
      const [number, ofOutput, outputWeights, ofReference, referenceWeights] = pair;
      const title = data.metrics[each.metric].title,
        which = data.references.length > 1 ? `reference ${number + 1}` : "reference";
      if (ofReference)
        shownParts.push(
          line(
            `${title}: ${which} in ${data.systems[s]}`,
            shaded(data.references[number][i], each.references[number][at], ofReference, referenceWeights),
            data.target_lang,
            "why",
          ),
        );
      if (ofOutput)
        shownParts.push(
          line(
            `${title}: ${data.systems[s]} in ${which}`,
            shaded(data.outputs[s][i], each.outputs[s][at], ofOutput, outputWeights),
            data.target_lang,
            "why",
          ),
        );
    }
    const detail = data.details[`${s} ${i}`];
    if (!detail) continue;
    if (detail.spans && detail.spans.length)
      shownParts.push(
        line(`errors, ${data.systems[s]}`, spanned(data.outputs[s][i], detail.spans), data.target_lang, "why"),
      );
    if (detail.parts)
      shownParts.push(
        line(
          `parts, ${data.systems[s]}`,
          [
            document.createTextNode(
              Object.entries(detail.parts)
                .map(([name, value]) => `${name} ${shown(value)}`)
                .join(", "),
            ),
          ],
          "en",
          "why",
        ),
      );
  }
  return shownParts;
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
    nodes.push(
      element(
        "span",
        {
          class: "token",
          style: `--match:${(cosine / 1e6).toFixed(3)}`,
          "data-match": cosine / 1e6,
          title: (cosine / 1e6).toFixed(3) + (weights ? `, weight ${(weight / 1e6).toFixed(3)}` : ""),
        },
        characters.slice(start, end).join(""),
      ),
    );
    at = end;
  });
  nodes.push(document.createTextNode(characters.slice(at).join("")));
  nodes.push(element("span", { class: "mean", title: "mean of the matches" }, ` ${shown(sum / total / 1e4)}`));
  return nodes;
}

/** A text with its error spans marked; positions count characters as Python does. @param {string} text @param {{start: number, end: number, severity: string}[]} spans */
function spanned(text, spans) {
  const characters = [...text];
  /** @type {Node[]} */
  const nodes = [];
  let at = 0;
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    const start = Math.max(at, span.start);
    nodes.push(document.createTextNode(characters.slice(at, start).join("")));
    nodes.push(
      element("mark", { class: span.severity, title: span.severity }, characters.slice(start, span.end).join("")),
    );
    at = Math.max(at, span.end);
  }
  return [...nodes, document.createTextNode(characters.slice(at).join(""))];
}
