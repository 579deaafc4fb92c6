"use strict";
// A film's events, decoded; and what caches, rows and masters were after any number of them.
const Film = (() => {
  const LOAD = 0, STORE = 1, FETCH = 2, FILL = 3, DIRTY = 4, WRITE_BACK = 5, DROP = 6, ROW = 7, REFRESH = 8, READ = 9, WRITE = 10, INTERRUPT = 11;
  const NONE = 0xffffffff;
  const MISS = 1, BACK = 2, STALL = 4, STALE = 8, OPENED = 16, BEAT = 32, TASK = 64, BEGUN = 128;

  async function decoded(text, count) {
    const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const words = new Uint32Array(await new Response(stream).arrayBuffer());
    const column = (n) => words.subarray(n * count, (n + 1) * count);
    return {tick: column(0), kind: column(1), a: column(2), b: column(3), c: column(4)};
  }

  class State {
    constructor(film, events) {
      this.film = film;
      this.events = events;
      this.count = film.count;
      let first = 0;
      this.caches = film.caches.map((cache) => {
        const from = first;
        first += cache.sets * cache.ways;
        return {...cache, first: from, lines: cache.sets * cache.ways};
      });
      this.data = this.caches.find((cache) => cache.name === "data");
      this.lines = first;
      this.flags = new Uint8Array(this.count);
      this.reset();
      while (this.at < this.count) this.step();
      const begins = film.tasks.map((task) => (task.begin - film.since) * film.ticks).filter((tick) => tick >= 0).sort((x, y) => x - y);
      for (let i = 0, n = 0; i < this.count; i++) {
        if (n < begins.length && events.tick[i] >= begins[n]) this.flags[i] |= TASK;
        while (n < begins.length && events.tick[i] >= begins[n]) n++;
      }
      this.reset();
    }

    reset() {
      this.at = 0; // events applied
      this.code_at = null; // the address fetched last
      this.tags = new Float64Array(this.lines).fill(-1);
      this.dirty = new Uint8Array(this.lines);
      this.used = new Float64Array(this.lines).fill(-1); // tick of the last use, -1: before the film
      this.stale = new Map(); // of a line: the bytes that are newer in memory
      this.behind = new Map(); // of a dirty line: the bytes that a DMA read from memory, where they are older
      this.where = this.caches.map(() => new Map()); // line number -> cache line
      this.caches.forEach((cache, n) => {
        cache.tags.forEach((tag, i) => {
          this.tags[cache.first + i] = tag;
          this.dirty[cache.first + i] = cache.dirty[i];
          if (tag >= 0) this.where[n].set(tag, cache.first + i);
        });
      });
      this.rows = Object.fromEntries(Object.entries(this.film.banks).map(([name, rows]) => [name, [...rows]]));
      this.last = this.film.lanes.map(() => -1); // each lane's last event
      this.counts = {accesses: 0, stall: 0, filled: 0, "written back": 0, "rows opened": 0, beats: 0, "stale reads": 0, interrupts: 0};
    }

    cacheOf(line) { return this.caches.findIndex((cache) => line >= cache.first && line < cache.first + cache.lines); }

    drop(line) {
      const n = this.cacheOf(line);
      if (n >= 0 && this.where[n].get(this.tags[line]) === line) this.where[n].delete(this.tags[line]);
      this.tags[line] = -1;
      this.dirty[line] = 0;
      this.used[line] = -1;
      this.stale.delete(line);
      this.behind.delete(line);
    }

    // the lines of the data cache that hold some of these bytes, with the offsets in each
    held(address, bytes) {
      const found = [];
      if (!this.data) return found;
      const size = this.data.line, n = this.caches.indexOf(this.data);
      for (let tag = Math.floor(address / size); tag * size < address + bytes; tag++) {
        const line = this.where[n].get(tag);
        if (line !== undefined) found.push([line, Math.max(0, address - tag * size), Math.min(size, address + bytes - tag * size)]);
      }
      return found;
    }

    access(i, kind) {
      const {tick, a, b, c} = this.events, bytes = kind === FETCH ? b[i] : (b[i] & 255) * (b[i] >>> 8);
      const cached = kind === FETCH ? this.code(a[i], bytes) : this.held(a[i], bytes);
      this.counts.accesses += kind === FETCH ? 1 : b[i] >>> 8;
      this.counts.stall += c[i];
      this.last[0] = i;
      if (kind === FETCH) this.code_at = a[i];
      let stale = false;
      for (const [line, from, to] of cached) {
        this.used[line] = tick[i];
        const old = this.stale.get(line);
        if (!old) continue;
        for (let byte = from; byte < to; byte++) if (old.has(byte)) {
          if (kind === STORE) old.delete(byte); else stale = true;
        }
        if (old.size === 0) this.stale.delete(line);
      }
      if (stale) this.counts["stale reads"]++;
      this.flags[i] |= (c[i] ? STALL : 0) | (stale ? STALE : 0);
    }

    code(address, bytes) {
      const n = this.caches.findIndex((cache) => cache.name === "code"), found = [];
      if (n < 0) return found;
      const size = this.caches[n].line;
      for (let tag = Math.floor(address / size); tag * size < address + bytes; tag++)
        if (this.where[n].has(tag)) found.push([this.where[n].get(tag), 0, size]);
      return found;
    }

    beat(i, write) {
      const {a, b, c} = this.events, size = this.data ? this.data.line : 32;
      this.counts.beats++;
      this.last[c[i]] = i;
      this.flags[i] |= BEAT;
      for (const [line, from, to] of this.held(a[i], b[i])) {
        if (write) {
          if (!this.stale.has(line)) this.stale.set(line, new Set());
          for (let byte = from; byte < Math.min(to, size); byte++) this.stale.get(line).add(byte);
        } else if (this.dirty[line]) {
          this.counts["stale reads"]++;
          this.flags[i] |= STALE;
          if (!this.behind.has(line)) this.behind.set(line, new Set());
          for (let byte = from; byte < to; byte++) this.behind.get(line).add(byte);
        }
      }
    }

    step() {
      const i = this.at, {tick, kind, a, b, c} = this.events;
      switch (kind[i]) {
        case LOAD: case STORE: case FETCH: this.access(i, kind[i]); break;
        case FILL: {
          if (this.tags[a[i]] >= 0) this.drop(a[i]);
          this.tags[a[i]] = b[i];
          this.dirty[a[i]] = c[i];
          this.used[a[i]] = tick[i];
          this.where[this.cacheOf(a[i])].set(b[i], a[i]);
          this.counts.filled++;
          this.flags[i] |= MISS;
          break;
        }
        case DIRTY: this.dirty[a[i]] = 1; break;
        case WRITE_BACK:
          if (a[i] !== NONE) { this.dirty[a[i]] = 0; this.behind.delete(a[i]); }
          this.counts["written back"]++;
          this.flags[i] |= BACK;
          break;
        case DROP: this.drop(a[i]); break;
        case ROW: {
          this.rows[this.film.regions[a[i]].name][b[i]] = c[i];
          this.counts["rows opened"]++;
          this.flags[i] |= OPENED;
          break;
        }
        case REFRESH: this.rows[this.film.regions[a[i]].name].fill(-1); break;
        case INTERRUPT: this.flags[i] |= BEGUN; this.counts.interrupts++; break;
        default: this.beat(i, kind[i] === WRITE);
      }
      this.at++;
    }

    seek(count) {
      const to = Math.max(0, Math.min(this.count, count));
      if (to < this.at) this.reset();
      while (this.at < to) this.step();
    }

    get tick() { return this.at ? this.events.tick[this.at - 1] : 0; }

    // the number of events applied behind the next (or, step < 0, the last) one that has one of the flags
    next(flags, step) {
      let i = step > 0 ? this.at : this.at - 2;
      while (i >= 0 && i < this.count && !(this.flags[i] & flags)) i += step;
      return i < 0 ? 0 : Math.min(i + 1, this.count);
    }

    // what a test compares
    plain() {
      return {
        at: this.at, tags: [...this.tags], dirty: [...this.dirty], rows: this.rows, counts: {...this.counts},
        stale: Object.fromEntries([...this.stale].map(([line, bytes]) => [line, [...bytes].sort((x, y) => x - y)])),
        behind: Object.fromEntries([...this.behind].map(([line, bytes]) => [line, [...bytes].sort((x, y) => x - y)])),
      };
    }
  }

  return {State, decoded, LOAD, STORE, FETCH, FILL, DIRTY, WRITE_BACK, DROP, ROW, REFRESH, READ, WRITE, INTERRUPT, NONE, MISS, BACK, STALL, STALE, OPENED, BEAT, TASK, BEGUN};
})();
