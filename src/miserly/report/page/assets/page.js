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
    const size = isNarrow() ? 12 : 13;
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

  function draw(id, chart) {
    if (!at(id)) return;
    const colour = palette();
    const spec = coloured(chart, colour);
    Plotly.react(id, spec.data, dressed(spec.layout, colour), quiet);
  }

  // -- what a budget changes ------------------------------------------------------------------------------

  function upright(x, dash, colour) {
    return { type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line: { color: colour, width: 1.5, dash: dash } };
  }

  function note(x, y, text, logarithmic, side) {
    const place = logarithmic ? Math.log10(x) : x;
    return { x: place, xref: "x", y: y, yref: "paper", yanchor: "bottom", xanchor: side, text: text, showarrow: false, font: { size: 12 } };
  }

  function side(x, range) {
    return x > (range[0] + range[1]) / 2 ? "right" : "left";
  }

  function frontierAt(step) {
    const { data, layout } = page.charts.frontier;
    const marked = { ...data[data.length - 1], x: [step.x], y: [step.y] };
    const isLog = layout.xaxis.type === "log";
    const place = isLog ? Math.log10(step.line) : step.line;
    const named = isNarrow() ? data.filter((trace) => trace.showlegend !== false).length : 0; // one below the other
    return {
      data: [...data.slice(0, -1), marked],
      layout: { ...layout, height: layout.height + 14 * named, shapes: [upright(step.line, "dash", "@accent")], annotations: [{ ...note(step.line, 1, step.label, isLog, side(place, layout.xaxis.range)), font: { size: 12, color: "@accent" } }] },
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
        annotations: [note(bills.mean, 1.08, bills.mean_text, false, side(bills.mean, range)), note(bills.most, 1, bills.most_text, false, side(bills.most, range))],
      },
    };
  }

  function featuresAt(step) {
    const { data, layout } = page.charts.features;
    return { data: [{ ...data[0], x: step.share, text: step.share_words }], layout: layout };
  }

  function growthAt(step) {
    const { data, layout } = page.charts.growth;
    const column = { type: "rect", xref: "x", yref: "paper", x0: step.place - 0.5, x1: step.place + 0.5, y0: 0, y1: 1, line: { color: "@accent", width: 2 } };
    if (data[0].type !== "heatmap") return { data: data, layout: { ...layout, shapes: [upright(step.place, "dash", "@accent")] } };
    const every = isNarrow() ? 3 : 1; // as many amounts as there is room for
    const some = (list) => list.filter((_, i) => i % every === 0);
    const xaxis = { ...layout.xaxis, tickvals: some(layout.xaxis.tickvals), ticktext: some(layout.xaxis.ticktext), tickangle: 0 };
    return { data: [{ ...data[0], showscale: !isNarrow() }], layout: { ...layout, xaxis: xaxis, shapes: [column] } };
  }

  // No line ends inside a number.
  function whole(said) {
    return said.split(/(\S*\d\S*)/).map((part, i) => {
      if (i % 2 === 0) return part;
      const span = document.createElement("span");
      span.className = "whole";
      span.textContent = part;
      return span;
    });
  }

  function show() {
    const step = page.steps[Number(slider.value)];
    for (const [place, said] of Object.entries(step.words)) at("now-" + place).replaceChildren(...whole(said));
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
