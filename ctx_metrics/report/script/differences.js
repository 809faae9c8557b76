// The words in which texts differ.

/** Which words of a text also occur in another, at most as often as there: first those of a longest common subsequence, then
 * those in other places. Ignores case. @param {string[]} words @param {string[]} others @returns {boolean[]} */
function common(words, others) {
  const [own, other] = [words, others].map((each) => each.map((word) => word.toLocaleLowerCase()));
  const [n, m] = [own.length, other.length];
  const lengths = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--)
      lengths[i][j] = own[i] === other[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  const kept = new Array(n).fill(false);
  /** @type {Map<string, number>} */
  const left = new Map();
  for (let i = 0, j = 0; j < m;)
    if (i < n && own[i] === other[j]) {
      kept[i] = true;
      i++;
      j++;
    } else if (i < n && lengths[i + 1][j] >= lengths[i][j + 1]) i++;
    else {
      left.set(other[j], (left.get(other[j]) || 0) + 1);
      j++;
    }
  return own.map((word, i) => {
    const elsewhere = left.get(word) || 0;
    if (kept[i] || !elsewhere) return kept[i];
    left.set(word, elsewhere - 1);
    return true;
  });
}

const segmenter = new Intl.Segmenter(data.target_lang || undefined, { granularity: "word" });

/** A text split into words by the rules of its language, and what is between them. @param {string} text */
const words = (text) => [...segmenter.segment(text)].map((each) => each.segment);

/** A text in which words are marked that occur in none of the others. @param {string} text @param {string[]} others @param {string} tag */
function compared(text, others, tag) {
  if (!others.length) return [document.createTextNode(text)];
  const own = words(text);
  const is = own.map((word) => word.trim() !== "");
  const bare = own.filter((_, k) => is[k]);
  const found = others.map((other) =>
    common(
      bare,
      words(other).filter((word) => word.trim() !== ""),
    ),
  );
  const kept = bare.map((_, k) => found.some((each) => each[k]));
  let next = 0;
  const marked = is.map((word) => (word ? !kept[next++] : false));
  /** @type {Node[]} */
  const nodes = [];
  for (let k = 0; k < own.length;) {
    let end = k + 1;
    while (end < own.length && (marked[end] === marked[k] || (marked[k] && !is[end] && marked[end + 1]))) end++;
    const run = own.slice(k, end).join("");
    nodes.push(marked[k] ? element(tag, {}, run) : document.createTextNode(run));
    k = end;
  }
  return nodes;
}
