// Opens the part of the page that its address names. This is the last script, and starts everything.

const PARTS = [...(several ? ["sets"] : []), "overview", "segments", "documents", "charts"];
const partLinks = [.../** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("#parts-nav a"))];
const setLinks = [.../** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("#sets-nav a"))];
const title = document.title;
partLinks.forEach((link) => (link.href = HERE + link.hash.slice(1)));

/** @param {HTMLAnchorElement} link @param {boolean} current @param {string} what */
function setCurrent(link, current, what) {
  if (current) link.setAttribute("aria-current", what);
  else link.removeAttribute("aria-current");
}

/** Show which test set and which part is open. Links to other test sets lead to the same part. @param {string} part */
function setLinked(part) {
  const inSet = part !== "sets";
  byId("parts-nav").hidden = !inSet;
  partLinks.forEach((link) => setCurrent(link, link.hash === HERE + part, "page"));
  setLinks.forEach((link, k) => {
    if (k) link.href = `#${k}/${inSet ? part : "overview"}`;
    setCurrent(link, k === (inSet ? SET : 0), inSet ? "true" : "page");
  });
  if (several) {
    const [links, link] = [byId("sets-nav"), setLinks[inSet ? SET : 0]];
    links.scrollLeft = link.offsetLeft - (links.clientWidth - link.offsetWidth) / 2; // on a narrow screen
  }
  document.title = several && inSet ? `${setLinks[SET].textContent}: ${title}` : title;
}

function open() {
  const { set, name, number } = address();
  if (set !== SET) {
    location.reload();
    return;
  }
  let part = { segment: "segments", document: "documents" }[name] || (PARTS.includes(name) ? name : "overview");
  if (part === "documents" && !data.documents.length) part = "overview";
  for (const each of PARTS) byId(`part-${each}`).hidden = each !== part;
  setLinked(part);
  if (part === "segments") {
    if (name === "segment" && !chosen().includes(number - 1))
      Object.assign(state, { text: "", document: -1, least: "", most: "", marked: false });
    if (name === "segment") detailed.add(number - 1);
    showSegments();
    if (name === "segment") {
      const show = () => boxOf(number - 1)?.scrollIntoView();
      show();
      setTimeout(show, 300); // once the segments above it are filled and have their final heights
    }
  } else if (part === "documents") {
    read(name === "document" && data.documents[number - 1] ? number - 1 : -1);
    if (reading >= 0) byId("document-heading").focus({ preventScroll: true });
    scrollTo(0, 0);
  } else if (part === "charts") showCharts();
}

document
  .querySelectorAll(".copy")
  .forEach((button) =>
    button.addEventListener("click", () =>
      navigator.clipboard.writeText(button.previousElementSibling?.textContent || ""),
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
document.querySelectorAll("td > .id").forEach((each) => each.replaceWith(identified(each.textContent || "")));
document.querySelectorAll(".systems, .matrix, .baseline > table").forEach(sortable);
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
