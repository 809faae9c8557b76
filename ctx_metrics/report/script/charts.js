// Charts, drawn by Vega-Lite when they are first seen.

/** What charts are drawn of: a row for each output. */
function chartRows() {
  const titled = (/** @type {(each: Metric) => any} */ value) =>
    Object.fromEntries(data.metrics.map((each) => [each.title, value(each)]));
  return data.outputs[0].flatMap((_, i) => {
    const all = titled((each) => Object.fromEntries(data.systems.map((name, s) => [name, each.segments[s][i]])));
    return data.systems.map((system, s) => ({
      segment: i + 1,
      system,
      document: documentName(i),
      words: data.words[i],
      all,
      scores: titled((each) => each.segments[s][i]),
    }));
  });
}

function showCharts() {
  /** @type {any[]|null} */
  let rows = null;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.querySelectorAll("#part-charts figure").forEach((figure, number) => {
    const plot = /** @type {HTMLElement} */ (figure.querySelector(".plot"));
    if (plot.firstChild) return;
    rows = rows || chartRows();
    // @ts-ignore the bundle of Vega-Embed is in the page
    vegaEmbed(
      plot,
      { ...data.charts[number], datasets: { ...data.charts[number].datasets, segments: rows } },
      {
        actions: { export: true, source: false, compiled: false, editor: false },
        theme: dark ? "dark" : undefined,
        renderer: "canvas",
      },
    ).then((/** @type {any} */ made) =>
      made.view.addEventListener("click", (/** @type {any} */ _, /** @type {any} */ item) => {
        if (item && item.datum && item.datum.segment) location.hash = `segment-${item.datum.segment}`;
      }),
    );
  });
}
