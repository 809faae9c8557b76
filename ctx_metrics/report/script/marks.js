// Segments that the reader has marked; the browser remembers them for this report.

const KEY = `ctx-marks-${data.key}`;

/** Where marks are stored; null in a browser without storage for local pages, where marks last until the page is closed. */
const storage = (() => {
  try {
    return localStorage;
  } catch {
    return null;
  }
})();

/** @type {Set<number>} */
const marks = new Set(JSON.parse(storage?.getItem(KEY) || "[]"));

/** @param {number} segment @param {boolean} marked */
function mark(segment, marked) {
  if (marked) marks.add(segment);
  else marks.delete(segment);
  storage?.setItem(KEY, JSON.stringify([...marks]));
}

/** The marked segments as TSV: one row per system, with texts and scores. */
function marked() {
  const columns = [
    "segment",
    "document",
    "system",
    ...data.metrics.map((each) => each.name),
    "source",
    "reference",
    "hypothesis",
  ];
  const rows = [...marks]
    .sort((a, b) => a - b)
    .flatMap((i) =>
      data.systems.map((name, s) => [
        i + 1,
        documentName(i),
        name,
        ...data.metrics.map((each) => each.segments[s][i] ?? ""),
        data.source ? data.source[i] : "",
        data.references.length ? data.references[0][i] : "",
        data.outputs[s][i],
      ]),
    );
  return [columns, ...rows]
    .map((row) => row.map((cell) => String(cell).replace(/[\t\n\r]/g, " ")).join("\t") + "\n")
    .join("");
}

/** Save the marked segments as a file, or say that there are none. */
function saveMarked() {
  if (marks.size) save("marked.tsv", marked());
  else byId("segment-count").textContent = "No segment is marked; tick the boxes beside the segments' numbers.";
}
