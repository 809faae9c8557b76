// The difference of each system from a baseline.

/** @param {number} baseline */
function showBaseline(baseline) {
  setTools(byId("baseline-tools"), [
    choice(
      "Baseline",
      data.systems.map((name, s) => [String(s), name]),
      String(baseline),
      (value) => showBaseline(Number(value)),
    ),
  ]);
  const cell = (/** @type {Metric} */ each, /** @type {number} */ s) => {
    const [score, other] = [each.system[s], each.system[baseline]];
    if (score === null || other === null) return "-";
    const difference = score - other,
      p = each.p_holm ? each.p_holm[s][baseline] : null,
      sure = p !== null && p < data.tests.alpha;
    return element(
      "td",
      { class: !sure ? null : difference * each.sign > 0 ? "better" : "worse" },
      `${difference > 0 ? "+" : ""}${shown(difference)}${sure ? "*" : ""}${p === null ? "" : ` (p ${p.toFixed(3)})`}`,
    );
  };
  const rows = data.systems.flatMap((name, s) =>
    s === baseline ? [] : [[name, ...data.metrics.map((each) => cell(each, s))]],
  );
  byId("baseline-table").replaceChildren(sortable(table(["System", ...data.metrics.map((each) => each.title)], rows)));
}
