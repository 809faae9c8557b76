// The charts, drawn by Vega-Lite when they first come into view. The tools above them set the parameters of all.

/** A BLEU of 100.00000000000004 would extend its axis to 110. @param {number|null} score */
const rounded = (score) => (score === null ? null : Number(score.toFixed(6)));

/** The rows that charts are drawn from: one for each output, with the numbers of its system and document, and its scores by metric. */
function chartRows() {
  return data.outputs[0].flatMap((_, i) => {
    const all = data.metrics.map((each) => each.segments.map((own) => rounded(own[i])));
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

/** Give a chart its texts, turn the titles of axes that start with "=" into expressions, and fit legends and labels to the page.
 * @param {any} spec of Vega */
function adapted(spec) {
  const width = document.body.clientWidth;
  const columns = Math.max(1, Math.min(4, Math.floor((width - 130) / 140)));
  const [names, documents, limit] = [data.systems, data.documents.map((each) => each.id), room(240)];
  const lists = /** @type {Object<string, string[]>} */ ({
    names,
    documents,
    titles: data.metrics.map((each) => each.title),
    shortNames: names.map((name) => shortened(name, limit)),
    shortDocuments: documents.map((name) => shortened(name, limit)),
    legendNames: names.map((name) => shortened(name, Math.min(240, (width - 130) / columns - 20))),
  });
  for (const signal of spec.signals) if (signal.name in lists) signal.value = lists[signal.name];
  spec.config.axis.labelLimit = limit + 1;
  for (const axis of spec.axes) if (axis.title?.startsWith?.("=")) axis.title = { signal: axis.title.slice(1) };
  for (const legend of spec.legends || []) {
    if (!legend.columns) continue; // of other things than systems
    legend.columns = columns;
    legend.encode.labels.update.fontWeight = {
      signal: "datum.value == system || datum.value == compared ? 'bold' : 'normal'",
    };
  }
  return spec;
}

/** The views of the charts; each is drawn once. @type {Promise<any>[]} */
let views = [];

function drawCharts() {
  // The policy of the page knows Vega by its hash, also in an element that is added.
  document.head.append(element("script", {}, byId("vega").textContent));
  const rows = chartRows();
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const draw = async (/** @type {Element} */ figure, /** @type {number} */ number) => {
    const spec = data.charts[number];
    // @ts-ignore the bundle of Vega-Embed is in the page
    const { view } = await vegaEmbed(
      figure.querySelector(".plot"),
      { ...spec, background: "transparent", datasets: { ...spec.datasets, segments: rows } },
      {
        actions: { export: true, source: false, compiled: false, editor: false },
        theme: dark ? "dark" : undefined,
        renderer: "canvas",
        patch: adapted,
        ast: true, // expressions are interpreted: no text runs as code
      },
    );
    figure.querySelector(".plot summary")?.setAttribute("aria-label", "Save the chart as an image");
    view.addEventListener("click", (/** @type {any} */ _, /** @type {any} */ item) => {
      if (item?.datum?.segment) location.hash = `${HERE}segment-${item.datum.segment}`;
    });
    return view;
  };
  let before = Promise.resolve();
  return [...document.querySelectorAll("#part-charts figure")].map((figure, number) => {
    before = before.then(() => new Promise((done) => requestAnimationFrame(done))).then(() => draw(figure, number));
    return before;
  });
}

function showCharts() {
  const set = (/** @type {Partial<typeof state>} */ change) => {
    Object.assign(state, change);
    showCharts();
  };
  setTools(byId("chart-tools"), [...sharedTools(set), ...(data.metrics.length > 1 ? [secondMetric(set)] : [])]);
  if (!views.length) views = drawCharts();
  const [system, other] = state.systems;
  const against = other >= 0 ? other : ordered(state.metric).find((s) => s !== system);
  const { metric } = state;
  const values = { system, compared: other, against, metric, other: state.other, order: ordered(metric) };
  views.forEach(async (each) => {
    const view = await each;
    const known = view.getState({ signals: () => true, data: () => false }).signals;
    for (const [name, value] of Object.entries(values)) if (name in known) view.signal(name, value);
    view.runAsync();
  });
}
