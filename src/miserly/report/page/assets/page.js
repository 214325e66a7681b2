"use strict";
(function () {
  const page = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const slider = document.getElementById("budget");
  const at = (id) => document.getElementById(id);
  const quiet = { displayModeBar: false, responsive: true };

  const isNarrow = () => root.clientWidth < 760;

  // -- colours: "@ink" stands for the page's own --ink ----------------------------------------------------

  function coloured(thing, palette) {
    if (typeof thing === "string") return thing[0] === "@" ? palette(thing.slice(1)) : thing;
    if (Array.isArray(thing)) return thing.map((one) => coloured(one, palette));
    if (thing === null || typeof thing !== "object") return thing;
    return Object.fromEntries(Object.entries(thing).map(([key, one]) => [key, coloured(one, palette)]));
  }

  function palette() {
    const style = getComputedStyle(root);
    return (name) => style.getPropertyValue("--" + name).trim();
  }

  function dressed(layout, colour) {
    const axis = { gridcolor: colour("faint"), zeroline: false, linecolor: colour("line"), automargin: true };
    const size = textSize();
    const titled = (own) => ({ ...own, title: { standoff: 12, ...own.title, font: { size: size } } });
    return {
      ...layout,
      xaxis: titled({ ...axis, fixedrange: true, showline: true, ...layout.xaxis }),
      yaxis: titled({ ...axis, fixedrange: true, ...layout.yaxis }),
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("ink"), size: size, family: getComputedStyle(document.body).fontFamily },
      hoverlabel: { bgcolor: colour("paper"), bordercolor: colour("line"), font: { color: colour("ink") }, align: "left" },
      margin: { l: 12, r: 14, t: 24, b: 12, ...layout.margin },
    };
  }

  // -- room: what is written on a chart stays inside it, and nothing is written over anything else ----------

  const pen = document.createElement("canvas").getContext("2d");

  function widthOf(words, size) {
    pen.font = size + "px " + getComputedStyle(document.body).fontFamily;
    return Math.max(0, ...String(words).split("<br>").map((line) => pen.measureText(unescaped(line)).width));
  }

  function unescaped(words) {
    return words.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  }

  function textSize() {
    return isNarrow() ? 12 : 13;
  }

  // The width between the axes, as far as it is known before the chart is drawn.
  function roomOf(id, layout) {
    const names = layout.yaxis.ticktext || ["100 %"];
    const beside = Math.max(...names.map((name) => widthOf(name, textSize())));
    return at(id).clientWidth - beside - (layout.yaxis.title ? 60 : 36);
  }

  // Words on as many lines as they need.
  function wrapped(words, room, size) {
    return words.split(" ").reduce((lines, word) => {
      const longer = lines + " " + word;
      return widthOf(longer, size) <= room ? longer : lines + "<br>" + word;
    });
  }

  // Every tick, every second, every third, ...: as many as leave some space between their labels.
  function thinned(axis, room) {
    if (!axis.tickvals) return axis;
    const [low, high] = axis.range;
    const middles = axis.tickvals.map((tick) => (room * ((axis.type === "log" ? Math.log10(tick) : tick) - low)) / (high - low));
    const halves = axis.ticktext.map((label) => widthOf(label, textSize()) / 2);
    const fits = (kept) => kept.every((i, k) => k === 0 || middles[i] - halves[i] > middles[kept[k - 1]] + halves[kept[k - 1]] + 8);
    const all = axis.tickvals.map((_, i) => i);
    let every = 1;
    while (!fits(all.filter((i) => i % every === 0))) every += 1;
    const some = (list) => list.filter((_, i) => i % every === 0);
    return { ...axis, tickvals: some(axis.tickvals), ticktext: some(axis.ticktext), tickangle: 0 };
  }

  function fitted(id, chart) {
    const layout = chart.layout;
    const room = roomOf(id, layout);
    const axis = thinned(layout.xaxis, room);
    const title = { ...axis.title, text: wrapped(axis.title.text, room, textSize()) };
    return { data: chart.data, layout: { ...layout, xaxis: { ...axis, title: title } } };
  }

  function draw(id, chart) {
    if (!at(id)) return;
    const colour = palette();
    const spec = coloured(fitted(id, chart), colour);
    at(id).style.height = spec.layout.height + "px"; // or what is below would move up when the window changes
    Plotly.react(id, spec.data, dressed(spec.layout, colour), quiet);
  }

  // -- what a budget changes ------------------------------------------------------------------------------

  function upright(x, dash, colour) {
    return { type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line: { color: colour, width: 1.5, dash: dash } };
  }

  // A note beside its line, on the side of more room; where that is too little, at the end of the chart.
  function note(id, layout, x, y, text, range) {
    const logarithmic = layout.xaxis.type === "log";
    const place = logarithmic ? Math.log10(x) : x;
    const share = (place - range[0]) / (range[1] - range[0]);
    const isRight = share > 0.5;
    const fits = widthOf(text, 12) <= (isRight ? share : 1 - share) * roomOf(id, layout);
    const where = fits ? { x: place, xref: "x", xanchor: isRight ? "right" : "left" } : { x: 1, xref: "paper", xanchor: "right" };
    return { ...where, y: y, yref: "paper", yanchor: "bottom", text: text, showarrow: false, font: { size: 12 } };
  }

  function frontierAt(step) {
    const { data, layout } = page.charts.frontier;
    const marked = { ...data[data.length - 1], x: [step.x], y: [step.y] };
    const named = isNarrow() ? data.filter((trace) => trace.showlegend !== false).length : 0; // one below the other
    return {
      data: [...data.slice(0, -1), marked],
      layout: { ...layout, height: layout.height + 14 * named, shapes: [upright(step.line, "dash", "@accent")], annotations: [{ ...note("chart-frontier", layout, step.line, 1, step.label, layout.xaxis.range), font: { size: 12, color: "@accent" } }] },
    };
  }

  function billsAt(step) {
    const { data, layout } = page.charts.bills;
    const bills = step.bills;
    const high = bills.x[bills.x.length - 1];
    const low = bills.x[0] < high / 2 || bills.x.length === 1 ? 0 : bills.x[0];
    const room = Math.max(0.03 * (high - low), bills.width);
    const range = [low - room, high + room];
    return {
      data: [{ ...data[0], x: bills.x, y: bills.y, width: bills.width, text: bills.text }],
      layout: {
        ...layout,
        xaxis: { ...layout.xaxis, range: range },
        shapes: [upright(bills.mean, "solid", "@ink"), upright(bills.most, "dot", "@ink")],
        annotations: [note("chart-bills", layout, bills.mean, 1.08, bills.mean_text, range), note("chart-bills", layout, bills.most, 1, bills.most_text, range)],
      },
    };
  }

  // Beside the bars or squares of a phone, shorter names.
  function named(chart) {
    if (!isNarrow() || !chart.narrow_names) return chart.layout;
    return { ...chart.layout, yaxis: { ...chart.layout.yaxis, ticktext: chart.narrow_names } };
  }

  function featuresAt(step) {
    const chart = page.charts.features;
    const layout = named(chart);
    const xaxis = isNarrow() ? { ...layout.xaxis, range: [0, 135] } : layout.xaxis; // "100 %" beside the longest bar
    return { data: [{ ...chart.data[0], x: step.share, text: step.share_words }], layout: { ...layout, xaxis: xaxis } };
  }

  function growthAt(step) {
    const chart = page.charts.growth;
    const { data, layout } = { data: chart.data, layout: named(chart) };
    const column = { type: "rect", xref: "x", yref: "paper", x0: step.place - 0.5, x1: step.place + 0.5, y0: 0, y1: 1, line: { color: "@accent", width: 2 } };
    if (data[0].type !== "heatmap") return { data: data, layout: { ...layout, shapes: [upright(step.place, "dash", "@accent")] } };
    return { data: [{ ...data[0], showscale: !isNarrow() }], layout: { ...layout, shapes: [column] } };
  }

  // No line ends inside a number.
  function whole(text) {
    return text.split(/(\S*\d\S*)/).map((part, i) => {
      if (i % 2 === 0) return part;
      const span = document.createElement("span");
      span.className = "whole";
      span.textContent = part;
      return span;
    });
  }

  function show() {
    const step = page.steps[Number(slider.value)];
    for (const [place, text] of Object.entries(step.words)) at("now-" + place).replaceChildren(...whole(text));
    slider.setAttribute("aria-valuetext", step.label);
    draw("chart-frontier", frontierAt(step));
    draw("chart-bills", billsAt(step));
    draw("chart-features", featuresAt(step));
    draw("chart-growth", growthAt(step));
    document.querySelectorAll("#budgets tbody tr").forEach((row, i) => {
      if (i === Number(slider.value)) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    });
  }

  // -- events ---------------------------------------------------------------------------------------------

  slider.addEventListener("input", show);
  document.querySelectorAll(".enlarge").forEach((button) => {
    button.addEventListener("click", () => {
      const large = button.previousElementSibling.classList.toggle("large");
      button.textContent = large ? "Fit the drawing to the screen" : "Enlarge the drawing";
    });
  });
  document.querySelectorAll("#budgets tbody tr").forEach((row, i) => {
    row.addEventListener("click", () => { slider.value = i; show(); });
  });
  window.addEventListener("resize", show); // a phone that is turned has other room
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  window.addEventListener("beforeprint", () => {
    root.classList.add("printing"); // paper is light
    show();
    document.querySelectorAll("details.print").forEach((part) => { part.open = true; });
  });
  window.addEventListener("afterprint", () => {
    root.classList.remove("printing");
    show();
  });
  show();
})();
