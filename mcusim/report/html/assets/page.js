"use strict";
(() => {
  const SLOT = 15, LETTER = 5.9, PRINTED = 680, BUTTONS = 34; // pixels: a label on end, a letter, a plot on paper, the buttons
  const config = { // buttons by name: plotly.js has others that send the plot to a server
    responsive: true, displaylogo: false, showTips: false, plotlyServerURL: "",
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };
  const round = (least) => { // the next of 1, 2, 5, 10, 20, 50, ...
    const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
    return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least);
  };

  // as many of the x axis' labels as there is room for, lying where they all fit
  function labels(layout, width) {
    const texts = (layout.meta || {}).labels || [], margin = layout.margin || {};
    if (!texts.length) return {};
    const [low, high] = layout.xaxis.range;
    const slot = (width - (margin.l || 0) - (margin.r || 0)) / Math.max(high - low, 1e-9);
    const lies = slot > LETTER * Math.max(...texts.map((t) => t.length)) + 8;
    const every = round(SLOT / slot), at = [];
    for (let i = Math.max(0, Math.ceil(low)); i <= Math.min(high, texts.length - 1); i++) if (i % every === 0) at.push(i);
    return {"xaxis.tickvals": at, "xaxis.ticktext": at.map((i) => texts[i]), "xaxis.tickangle": lies ? 0 : -90};
  }

  function draw(div, {data, layout}, row) {
    const room = BUTTONS - layout.margin.t; // so that they are over nothing
    if (room > 0) {
      layout.margin.t = BUTTONS;
      div.style.height = `${div.clientHeight + room}px`;
    }
    layout.dragmode = matchMedia("(pointer: coarse)").matches ? false : "zoom"; // a finger scrolls the page
    const first = labels(layout, div.clientWidth);
    for (const key in first) layout.xaxis[key.slice(6)] = first[key];
    const lanes = (layout.meta || {}).lanes && mcusimLanes(layout.meta), margin = layout.margin || {};
    const seen = () => lanes // what the zoom shows, before what stays
      ? [...lanes(layout.xaxis.range, div.clientWidth - (margin.l || 0) - (margin.r || 0)), ...data] : data;
    Plotly.newPlot(div, seen(), layout, lanes ? {...config, doubleClick: "reset"} : config);
    const relabel = () => {
      const wanted = labels(div.layout, div.clientWidth), axis = div.layout.xaxis;
      if ("xaxis.tickvals" in wanted && (wanted["xaxis.tickangle"] !== axis.tickangle ||
          String(wanted["xaxis.tickvals"]) !== String(axis.tickvals))) Plotly.relayout(div, wanted);
    };
    div.on("plotly_relayout", () => {
      relabel();
      if (lanes) { layout = div.layout; Plotly.react(div, seen(), layout); }
      for (const other of row) {
        const wanted = {};
        for (const axis of Object.keys(div.layout).filter((key) => /^yaxis/.test(key)))
          if (String(div.layout[axis].range) !== String(other.layout[axis].range)) wanted[axis + ".range"] = [...div.layout[axis].range];
        if (Object.keys(wanted).length) Plotly.relayout(other, wanted);
      }
    });
    addEventListener("resize", () => setTimeout(relabel, 250));
    addEventListener("beforeprint", () => Plotly.relayout(div, {width: PRINTED}));
    addEventListener("afterprint", () => Plotly.relayout(div, {width: null, autosize: true}));
  }

  const folded = [...document.querySelectorAll("details")].filter((one) => !one.open); // paper cannot be unfolded
  addEventListener("beforeprint", () => folded.forEach((one) => (one.open = true)));
  addEventListener("afterprint", () => folded.forEach((one) => (one.open = false)));

  const rows = [...document.querySelectorAll(".row")];
  const next = () => { // row by row: the first one answers while the others are drawn
    const row = rows.shift(), plots = row ? [...row.querySelectorAll(".plot")] : [];
    for (const div of plots) draw(div, JSON.parse(div.nextElementSibling.textContent), plots);
    if (rows.length) setTimeout(next);
  };
  next();
})();
