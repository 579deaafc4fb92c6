"use strict";
// The player of films: every .film of the page plays the one in its script element.
(() => {
  const element = (name, properties = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key in made && key !== "list") made[key] = value; else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  };
  const hex = (value, digits = 8) => `0x${value.toString(16).toUpperCase().padStart(digits, "0")}`;
  const whole = (value) => Math.round(value).toLocaleString("en-US");
  const JUMPS = [
    ["event", 255], ["miss", Film.MISS], ["write-back", Film.BACK], ["stall", Film.STALL], ["stale read", Film.STALE],
    ["row opened", Film.OPENED], ["DMA beat", Film.BEAT], ["task", Film.TASK], ["interrupt", Film.BEGUN],
  ];
  const SETS_A_ROW = 64, NAMES = 62; // pixels that the names of lanes have

  class Player {
    constructor(root, film, events) {
      this.root = root;
      this.film = film;
      this.state = new Film.State(film, events);
      this.buffers = [...film.buffers].sort((x, y) => x.address - y.address);
      this.places = new Map(film.places);
      this.playing = null;
      this.build();
      this.show();
    }

    // names

    bufferOf(address) {
      const found = this.buffers.find((one) => address >= one.address && address < one.address + one.bytes);
      return found || null;
    }

    regionOf(address) {
      return this.film.regions.find((one) => one.bases.some((base) => address >= base && address < base + one.bytes)) || null;
    }

    named(address) {
      const buffer = this.bufferOf(address), region = this.regionOf(address);
      return `${hex(address)}${buffer ? ` (${buffer.name}${region ? ` in ${region.name}` : ""})` : region ? ` (${region.name})` : ""}`;
    }

    kindOf(address) { const found = this.bufferOf(address); return found ? found.kind : "other"; }

    lineName(line) {
      const cache = this.state.caches[this.state.cacheOf(line)];
      const within = line - cache.first;
      return `${cache.name} cache, set ${Math.floor(within / cache.ways)} way ${within % cache.ways}`;
    }

    text(i) {
      const {kind, a, b, c} = this.state.events, {ticks, lanes, regions} = this.film;
      const stall = c[i] ? `, waits ${(c[i] / ticks).toFixed(1)} cycles` : "";
      switch (kind[i]) {
        case Film.LOAD: case Film.STORE: {
          const n = b[i] >>> 8, verb = kind[i] === Film.LOAD ? "loads" : "stores";
          const old = this.state.flags[i] & Film.STALE ? ", and reads stale bytes" : "";
          return `core ${verb} ${n > 1 ? `${whole(n)} times ` : ""}${b[i] & 255} B at ${this.named(a[i])}${stall}${old}`;
        }
        case Film.FETCH: return `core fetches ${whole(b[i])} B of code at ${hex(a[i])}${this.places.has(a[i]) ? ` (${this.places.get(a[i])})` : ""}${stall}`;
        case Film.INTERRUPT: return `${this.film.exceptions[a[i]] || `exception ${a[i]}`} begins`;
        case Film.FILL: {
          const cache = this.state.caches[this.state.cacheOf(a[i])];
          return `miss: ${this.lineName(a[i])} is filled with ${this.named(b[i] * cache.line)}${c[i] ? ", dirty" : ""}`;
        }
        case Film.DIRTY: return `${this.lineName(a[i])} becomes dirty`;
        case Film.WRITE_BACK: {
          const size = this.state.data ? this.state.data.line : 32;
          return `line ${this.named(b[i] * size)} is written back`;
        }
        case Film.DROP: return `${this.lineName(a[i])} is dropped`;
        case Film.ROW: return `${regions[a[i]].name} bank ${b[i]} opens row ${c[i]}`;
        case Film.REFRESH: return `${regions[a[i]].name} is refreshed: all rows are closed`;
        default: {
          const old = this.state.flags[i] & Film.STALE ? ", which is older than the cache's" : "";
          return `${lanes[c[i]]} ${kind[i] === Film.READ ? "reads" : "writes"} ${b[i]} B at ${this.named(a[i])}${old}`;
        }
      }
    }

    // parts

    build() {
      const button = (text, label, act) => element("button", {type: "button", textContent: text, title: label, ariaLabel: label, onclick: act});
      this.jump = element("select", {ariaLabel: "to jump to"}, ...JUMPS.map(([name], n) => element("option", {value: n, textContent: name})));
      this.speed = element("select", {ariaLabel: "events a second"}, ...[2, 10, 50, 250, 1000, 5000].map((n) =>
        element("option", {value: n, textContent: `${n} events/s`, selected: n === 10})));
      this.play = button("play", "play", () => this.toggle());
      const flags = () => JUMPS[Number(this.jump.value)][1];
      const bar = element("div", {className: "film-bar", role: "toolbar", ariaLabel: "film"},
        button("start", "to the beginning", () => this.seek(0)),
        button("back", "back to the last one", () => this.seek(this.state.next(flags(), -1))),
        this.play,
        button("next", "on to the next one", () => this.seek(this.state.next(flags(), 1))),
        button("end", "to the end", () => this.seek(this.state.count)), this.jump, this.speed);
      this.slider = element("input", {type: "range", min: 0, max: this.state.count, value: 0, ariaLabel: "event", oninput: () => this.seek(Number(this.slider.value))});
      this.now = element("p", {className: "film-now", ariaLive: "polite"});
      this.lanes = element("canvas", {className: "film-lanes", role: "img", ariaLabel: "tasks over time"});
      this.lanes.addEventListener("click", (event) => this.seekTime((event.offsetX - NAMES) / (this.lanes.clientWidth - NAMES)));
      this.grids = this.state.caches.map((cache) => this.grid(cache));
      this.tables = element("div", {className: "tables"});
      this.log = element("ol", {className: "film-log"});
      this.root.append(bar, this.slider, this.now, this.lanes, ...this.grids.map((one) => one.box), this.legend(), this.tables, this.log);
      this.root.tabIndex = 0;
      this.root.addEventListener("keydown", (event) => this.key(event, flags));
      new ResizeObserver(() => this.drawLanes()).observe(this.lanes);
    }

    key(event, flags) {
      if (event.target !== this.root) return;
      const act = {
        " ": () => this.toggle(), ArrowRight: () => this.seek(this.state.next(flags(), 1)), ArrowLeft: () => this.seek(this.state.next(flags(), -1)),
        Home: () => this.seek(0), End: () => this.seek(this.state.count),
      }[event.key];
      if (act) { event.preventDefault(); act(); }
    }

    grid(cache) {
      const cells = [], wide = Math.min(cache.sets, SETS_A_ROW), box = element("figure", {className: "film-cache"});
      const about = `${cache.name} cache: ${cache.sets} sets of ${cache.ways} ways, lines of ${cache.line} B; a column is a set`;
      box.append(element("figcaption", {textContent: about}));
      for (let first = 0; first < cache.sets; first += wide) {
        const block = element("div", {className: "film-sets", role: "img", ariaLabel: `${about}, from set ${first} on`});
        block.style.gridTemplateColumns = `repeat(${wide}, minmax(3px, 1fr))`;
        for (let way = 0; way < cache.ways; way++) for (let set = first; set < Math.min(first + wide, cache.sets); set++) {
          const cell = element("i");
          cells[set * cache.ways + way] = cell;
          block.append(cell);
        }
        box.append(block);
      }
      return {box, cells, cache};
    }

    legend() {
      const kinds = [...new Set([...this.film.buffers.map((one) => one.kind), "other"])];
      const found = kinds.map((kind) => element("span", {className: "colour"}, element("i", {className: `kind-${kind}`}), kind));
      for (const name of ["dirty", "stale", "just used"]) {
        found.push(element("span", {className: "colour"}, element("i", {className: `kind-other is-${name.replace(" ", "-")}`}), name));
      }
      return element("p", {className: "film-legend"}, ...found);
    }

    // what is shown

    show() {
      const {state} = this, cycle = state.tick / this.film.ticks + this.film.since;
      this.slider.value = state.at;
      const what = state.at ? this.text(state.at - 1) : "the film begins";
      this.now.textContent = `cycle ${whole(cycle)}, ${(cycle * 1000 / this.film.clock).toFixed(5)} ms, event ${whole(state.at)} of ${whole(state.count)}: ${what}`;
      for (const grid of this.grids) this.paint(grid);
      this.drawLanes();
      this.tables.replaceChildren(this.counts(), ...this.banks(), this.masters());
      const first = Math.max(0, state.at - 6);
      this.log.start = first + 1;
      this.log.replaceChildren(...Array.from({length: Math.min(state.count, state.at + 4) - first}, (_, n) =>
        element("li", {textContent: this.text(first + n), className: first + n >= state.at ? "dim" : first + n === state.at - 1 ? "now" : ""})));
    }

    paint({cells, cache}) {
      const {state} = this, recent = 40 * this.film.ticks, touched = state.at ? state.tick : 0;
      cells.forEach((cell, n) => {
        const line = cache.first + n, tag = state.tags[line];
        if (tag < 0) { cell.className = "empty"; cell.title = ""; return; }
        const old = state.stale.get(line), read = state.behind.get(line), used = state.used[line];
        const marks = [`kind-${this.kindOf(tag * cache.line)}`];
        if (state.dirty[line]) marks.push("is-dirty");
        if (old || read) marks.push("is-stale");
        if (used >= 0 && touched - used <= recent) marks.push("is-just-used");
        cell.className = marks.join(" ");
        const age = used < 0 ? "not used in the film" : `last used ${whole((touched - used) / this.film.ticks)} cycles ago`;
        cell.title = `${this.lineName(line)}: tag ${hex(tag)}, ${this.named(tag * cache.line)}, ${state.dirty[line] ? "dirty" : "clean"}, ${age}${old ? `, ${old.size} B stale` : ""}${read ? `, ${read.size} B read by DMA from memory, which is older` : ""}`;
      });
    }

    table(title, rows) {
      const made = element("table", {}, element("caption", {textContent: title}));
      made.append(element("tbody", {}, ...rows.map(([name, value]) => element("tr", {}, element("th", {scope: "row", textContent: name}), element("td", {className: "number", textContent: value})))));
      return made;
    }

    counts() {
      const found = {...this.state.counts, stall: `${whole(this.state.counts.stall / this.film.ticks)} cycles`};
      return this.table("so far", Object.entries(found).map(([name, value]) => [name, typeof value === "number" ? whole(value) : value]));
    }

    banks() {
      return Object.entries(this.state.rows).map(([name, rows]) =>
        this.table(`open rows of ${name}`, rows.map((row, bank) => [`bank ${bank}`, row < 0 ? "closed" : row])));
    }

    masters() {
      const {lanes} = this.film, {last} = this.state;
      const code = this.state.code_at === null ? [] : [["code", this.places.get(this.state.code_at) || hex(this.state.code_at)]];
      return this.table("who had the memories last", code.concat(lanes.map((lane, n) => [lane, n]).filter(([lane]) => !["asleep", "handlers"].includes(lane)).map(([lane, n]) => [lane, last[n] < 0 ? "-" : this.named(this.state.events.a[last[n]])])));
    }

    drawLanes() {
      const {lanes: canvas, film} = this, height = 18, scale = window.devicePixelRatio || 1, width = canvas.clientWidth - NAMES;
      if (width <= 0) return;
      canvas.width = (width + NAMES) * scale;
      canvas.height = film.lanes.length * height * scale;
      canvas.style.height = `${film.lanes.length * height}px`;
      const draw = canvas.getContext("2d"), style = getComputedStyle(this.root), span = Math.max(1, film.until - film.since);
      draw.scale(scale, scale);
      draw.font = "11px system-ui, sans-serif";
      film.lanes.forEach((lane, n) => {
        draw.fillStyle = style.getPropertyValue("--dim");
        draw.fillText(lane, 2, n * height + 13);
      });
      draw.translate(NAMES, 0);
      for (const task of film.tasks) {
        const from = Math.max(0, (task.begin - film.since) / span * width), to = Math.min(width, (task.end - film.since) / span * width);
        draw.fillStyle = style.getPropertyValue("--band");
        draw.fillRect(from, task.lane * height + 1, Math.max(1, to - from - 1), height - 2);
        draw.fillStyle = style.getPropertyValue("--ink");
        if (to - from > 30) {
          draw.save();
          draw.beginPath();
          draw.rect(from, task.lane * height, to - from - 2, height);
          draw.clip();
          draw.fillText(task.label, from + 3, task.lane * height + 13);
          draw.restore();
        }
      }
      const at = this.state.tick / film.ticks / span * width;
      draw.fillStyle = style.getPropertyValue("--bad");
      draw.fillRect(at - 1, 0, 2, film.lanes.length * height);
    }

    // time

    seek(count) { this.state.seek(count); this.show(); }

    seekTime(share) {
      const wanted = share * (this.film.until - this.film.since) * this.film.ticks, {tick} = this.state.events;
      let low = 0, high = this.state.count;
      while (low < high) { const middle = (low + high) >> 1; if (tick[middle] < wanted) low = middle + 1; else high = middle; }
      this.seek(low);
    }

    toggle() {
      if (this.playing !== null) {
        cancelAnimationFrame(this.playing);
        this.playing = null;
      } else {
        let before = performance.now(), due = 0;
        const frame = (time) => {
          due += (time - before) * Number(this.speed.value) / 1000;
          before = time;
          if (due >= 1) { this.seek(this.state.at + Math.floor(due)); due %= 1; }
          if (this.state.at >= this.state.count) { this.playing = null; this.face(); return; }
          this.playing = requestAnimationFrame(frame);
        };
        if (this.state.at >= this.state.count) this.seek(0);
        this.playing = requestAnimationFrame(frame);
      }
      this.face();
    }

    face() {
      const playing = this.playing !== null;
      this.play.textContent = this.play.title = this.play.ariaLabel = playing ? "pause" : "play";
    }
  }

  for (const root of document.querySelectorAll(".film")) {
    const film = JSON.parse(root.querySelector("script").textContent);
    Film.decoded(film.events, film.count).then(
      (events) => { root.player = new Player(root, film, events); root.classList.add("ready"); },
      () => root.append("This browser cannot unpack the film; one that knows DecompressionStream can."));
  }
})();
