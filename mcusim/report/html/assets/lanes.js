"use strict";
// Lanes over time. A zoom shows tasks as they are; those narrower than a pixel become one, until it is as wide.
const mcusimLanes = (meta) => {
  const HIDDEN = 0.3, BINS = 300, LETTER = 6; // of a pixel: a part that is not drawn; steps of the bus; a letter's pixels
  const count = (n) => Math.round(n).toLocaleString("en-US");
  const time = (n) => n.toLocaleString("en-US", {minimumFractionDigits: 4, maximumFractionDigits: 4});
  for (const run of meta.lanes) for (const row of run.rows) { // starts are stored as steps
    let at = 0;
    row.start = row.start.map((step) => (at += step));
  }

  function pieces(row, slot, low, high) {
    const found = [];
    let left = 0, right = row.start.length, filling = false;
    while (left < right) { // the first that ends after low
      const middle = (left + right) >> 1;
      if (row.start[middle] + row.length[middle] < low) left = middle + 1; else right = middle;
    }
    for (let i = left; i < row.start.length && row.start[i] <= high; i++) {
      const start = row.start[i], end = start + row.length[i], narrow = end - start < slot;
      let last = found[found.length - 1];
      if (filling && narrow && end - last.start <= slot) { last.end = end; last.count++; }
      else found.push(last = {start, end, text: row.text[i], moved: row.moved[i] || [], count: 1, busy: 0, parts: new Map()});
      last.busy += end - start;
      const parts = row.parts[i];
      for (let p = 0; p < parts.length; p += 2) last.parts.set(parts[p], (last.parts.get(parts[p]) || 0) + parts[p + 1]);
      filling = narrow;
    }
    return found;
  }

  function stackedParts(piece, slot) { // start, length, name of each part; what cannot be seen is added to the longest
    const all = [...piece.parts], longest = all.reduce((a, b) => (b[1] > a[1] ? b : a), [0, -1])[0];
    const seen = all.filter(([part, n]) => part === longest || n > HIDDEN * slot);
    const rest = all.reduce((sum, [, n]) => sum + n, 0) - seen.reduce((sum, [, n]) => sum + n, 0);
    let at = piece.start;
    return seen.map(([part, n]) => {
      const length = n + (part === longest ? rest : 0), begin = at;
      at += length;
      return [begin, length, part];
    });
  }

  function tooltip(run, piece) {
    const named = [...piece.parts].filter(([part]) => run.names[part]);
    const causes = named.length > 1 ? named.map(([part, n]) => `${run.names[part]} ${count(n)}`) : [];
    const span = `${time(piece.start * run.scale)} to ${time(piece.end * run.scale)} ms`, cycles = piece.end - piece.start;
    const lines = piece.count > 1
      ? [`<b>${piece.count} tasks, too narrow for this zoom</b>`, span, `${Math.round(100 * piece.busy / Math.max(cycles, 1))}% busy`]
      : [`<b>${run.texts[piece.text]}</b>`, span, `${count(cycles)} cycles`];
    for (let m = 0; piece.count === 1 && m < piece.moved.length; m += 2)
      causes.push(`${count(piece.moved[m + 1])} B at ${run.regions[piece.moved[m]]}`);
    return ([...lines, ...causes].join("<br>") + "<extra></extra>").replaceAll("%{", "&#37;{"); // a name is no template
  }

  function bars(low, high, width) {
    const all = {base: [], x: [], y: [], color: [], hover: [], text: []};
    let top = 0;
    for (const run of meta.lanes) {
      const slot = (high - low) / run.scale / width;
      run.rows.forEach((row, number) => {
        for (const piece of pieces(row, slot, low / run.scale, high / run.scale)) {
          const hover = tooltip(run, piece), name = piece.count === 1 && row.labelled ? run.texts[piece.text] : "";
          const room = (Math.min(piece.end, high / run.scale) - Math.max(piece.start, low / run.scale)) / slot;
          const text = [name, name.split(" ")[0]].find((one) => room > LETTER * one.length + 6) || "";
          for (let [start, length, part] of stackedParts(piece, slot)) {
            if (row.labelled) { // a text goes in the middle of the visible part
              const end = Math.min(start + length, high / run.scale);
              start = Math.max(start, low / run.scale);
              length = end - start;
            }
            all.base.push(start * run.scale);
            all.x.push(length * run.scale);
            all.y.push(-(top + number));
            all.color.push(run.colours[part]);
            all.hover.push(hover);
            all.text.push(text);
          }
        }
      });
      top += run.rows.length + (meta.gap || 0);
    }
    return {
      type: "bar", orientation: "h", base: all.base, x: all.x, y: all.y, width: 0.8, hovertemplate: all.hover,
      marker: {color: all.color, line: {width: 0}}, text: all.text, textposition: "inside", insidetextanchor: "middle",
      textangle: 0, insidetextfont: {size: 10, color: "#15181c"}, constraintext: "none", showlegend: false,
    };
  }

  function bus(low, high) { // bytes of each region, a task's spread evenly over its time
    const run = meta.lanes[0], from = low / run.scale, step = (high - low) / run.scale / BINS;
    const total = run.regions.map(() => new Float64Array(BINS + 1));
    for (const row of run.rows) row.moved.forEach((moved, i) => {
      const start = row.start[i], end = start + row.length[i];
      if (!moved.length || end <= from || start >= from + BINS * step) return;
      const stop = Math.min(BINS - 1, Math.floor((end - from) / step));
      for (let bin = Math.max(0, Math.floor((start - from) / step)); bin <= stop; bin++) {
        const inside = Math.min(end, from + (bin + 1) * step) - Math.max(start, from + bin * step);
        for (let m = 0; m < moved.length; m += 2)
          total[moved[m]][bin] += moved[m + 1] / Math.max(end - start, 1) * Math.max(inside, 0) / step;
      }
    });
    return run.regions.map((region, i) => ({
      type: "scatter", mode: "lines", yaxis: meta.bus, stackgroup: "bus", name: region, showlegend: false,
      x: Array.from(total[i], (_, bin) => low + bin * step * run.scale),
      y: Array.from(total[i], (n, bin) => (bin === BINS ? total[i][BINS - 1] : n) / run.scale / 1e3),
      line: {width: 0, shape: "hv", color: meta.regions[region]}, fillcolor: meta.regions[region],
      hovertemplate: `<b>${region.replaceAll("%{", "&#37;{")}</b> %{y:.1f} MB/s<extra></extra>`,
    }));
  }

  return (range, width) => {
    const [low, high] = range.map(Number);
    return [bars(low, high, Math.max(width, 50)), ...(meta.bus ? bus(low, high) : [])];
  };
};
