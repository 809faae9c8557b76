// Tables that can be sorted by a click on a column header.

/** A table; the first cell of each row is its header.
 * @param {string[]} header @param {(Node|string)[][]} rows a cell is its text, or its element @param {Object<string, any>} [attributes] */
function table(header, rows, attributes = {}) {
  const cell = (/** @type {Node|string} */ each, /** @type {number} */ k) =>
    each instanceof HTMLTableCellElement ? each : element(k ? "td" : "th", k ? {} : { scope: "row" }, each);
  const head = element("tr", {}, ...header.map((name) => element("th", { scope: "col" }, name)));
  return element(
    "table",
    attributes,
    element("thead", {}, head),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map(cell)))),
  );
}

/** Let clicks on a column header sort a table's rows: numbers first from the largest, texts first from A to Z, then in reverse.
 * @template {Element} T @param {T} made @returns {T} */
function sortable(made) {
  const heads = [...made.querySelectorAll("thead th")];
  heads.forEach((head, column) => {
    const name = head.textContent || "";
    if (!name) return;
    head.replaceChildren(
      element(
        "button",
        { type: "button", class: "sort", title: `Sort by ${name}`, onclick: () => sortBy(made, heads, column) },
        name,
      ),
    );
  });
  return made;
}

/** @param {Element} made @param {Element[]} heads @param {number} column */
function sortBy(made, heads, column) {
  const body = /** @type {Element} */ (made.querySelector("tbody"));
  const rows = [...body.children].map((row) => ({ row, text: row.children[column].textContent || "" }));
  const numbers = rows.map(({ text }) => Number.parseFloat(text.replaceAll(",", "")));
  const texts = column === 0 || numbers.every(Number.isNaN);
  const before = heads[column].getAttribute("aria-sort");
  const ascending = before ? before === "descending" : texts;
  heads.forEach((head, k) =>
    k === column
      ? head.setAttribute("aria-sort", ascending ? "ascending" : "descending")
      : head.removeAttribute("aria-sort"),
  );
  const order = rows
    .map((_, k) => k)
    .sort((a, b) => {
      if (texts) return (ascending ? 1 : -1) * rows[a].text.localeCompare(rows[b].text);
      if (Number.isNaN(numbers[a]) || Number.isNaN(numbers[b]))
        return Number(Number.isNaN(numbers[a])) - Number(Number.isNaN(numbers[b])) || a - b;
      return (ascending ? numbers[a] - numbers[b] : numbers[b] - numbers[a]) || a - b;
    });
  body.append(...order.map((k) => rows[k].row));
}
