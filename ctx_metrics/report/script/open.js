// Opens the part of the page that its address names. This is the last script, and starts everything.

const PARTS = ["overview", "segments", "documents", "charts"];

function open() {
  const [, name, number] = /^#?([a-z]*)-?(\d*)$/.exec(location.hash) || ["", "overview", ""];
  const part = { segment: "segments", document: "documents" }[name] || (PARTS.includes(name) ? name : "overview");
  for (const each of PARTS) byId(`part-${each}`).hidden = each !== part;
  document.querySelectorAll("nav a").forEach((link) => {
    if (link.getAttribute("href") === `#${part}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
  if (part === "segments") {
    if (name === "segment" && !chosen().includes(Number(number) - 1))
      Object.assign(state, { text: "", document: -1, least: "", most: "", marked: false });
    if (name === "segment") detailed.add(Number(number) - 1);
    showSegments();
    if (name === "segment") {
      const show = () => boxOf(Number(number) - 1)?.scrollIntoView();
      show();
      setTimeout(show, 300); // once the segments above it are filled and have their final heights
    }
  } else if (part === "documents") {
    reading = name === "document" && data.documents[Number(number) - 1] ? Number(number) - 1 : -1;
    showDocuments();
    if (reading >= 0) byId("document-heading").focus({ preventScroll: true });
    scrollTo(0, 0);
  } else if (part === "charts") showCharts();
}

document
  .querySelectorAll("[data-copy]")
  .forEach((button) =>
    button.addEventListener("click", () =>
      navigator.clipboard.writeText(byId(/** @type {HTMLElement} */ (button).dataset.copy || "").textContent || ""),
    ),
  );
const baselines = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".baseline"))];
const showBaseline = (/** @type {number} */ shownOne) => baselines.forEach((each, k) => (each.hidden = k !== shownOne));
document
  .querySelectorAll("[data-for=baseline]")
  .forEach((select) =>
    select.addEventListener("change", () => showBaseline(/** @type {HTMLSelectElement} */ (select).selectedIndex)),
  );
showBaseline(0);
document.querySelectorAll("#systems, .baseline > table").forEach(sortable);
addEventListener("hashchange", open);
addEventListener("beforeprint", () => {
  printing = true;
  [...byId("segment-list").children].forEach(fill);
});
addEventListener("afterprint", () => (printing = false));
addEventListener("keydown", (event) => {
  if (event.target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const boxes = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#segment-list article"))];
  if (byId("part-segments").hidden || !"jk".includes(event.key) || event.ctrlKey || event.metaKey) return;
  const at = boxes.findIndex((box) => box.getBoundingClientRect().top > -10);
  const box = boxes[Math.max(0, Math.min(boxes.length - 1, at + (event.key === "j" ? 1 : -1)))];
  box?.scrollIntoView();
  box?.focus({ preventScroll: true });
});
open();
