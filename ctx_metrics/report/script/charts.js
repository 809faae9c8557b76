// The charts, drawn by Vega-Lite when they first come into view.

/** The rows that charts are drawn from: one for each output, with the numbers of its system and document, and its scores by metric. */
function chartRows() {
  return data.outputs[0].flatMap((_, i) => {
    const all = data.metrics.map((each) => each.segments.map((own) => own[i]));
    return data.systems.map((_, system) => ({
      segment: i + 1,
      system,
      document: documentOf[i],
      words: data.words[i],
      all,
      scores: all.map((own) => own[system]),
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
