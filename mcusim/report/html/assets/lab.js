"use strict";
// A lab in a page: steps come one after the other, answers are judged here, and what was done is kept in the browser.
(() => {
  const judge = labJudge;
  const node = (name, attributes = {}, ...inner) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...inner.filter((one) => one !== null));
    return made;
  };
  const html = (text) => { const made = node("div"); made.innerHTML = text; return made; }; // of the lab's own file, escaped when it was made
  const now = () => new Date().toISOString().replace(/\.\d+Z$/, "+00:00");
  const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

  class Kept { // what a student did, in the browser's storage where there is one
    constructor(lab) { this.key = `mcusim lab ${lab.lab} ${lab.version} ${lab.digest}`; this.works = true; }
    read() {
      try {
        const found = JSON.parse(localStorage.getItem(this.key));
        return found && Array.isArray(found.answers) && typeof found.seed === "number" ? found : null;
      } catch { return null; }
    }
    write(state) { try { localStorage.setItem(this.key, JSON.stringify(state)); } catch { this.works = false; } }
    clear() { try { localStorage.removeItem(this.key); } catch { /* as above */ } }
  }

  class LabPage {
    constructor(root, lab) {
      Object.assign(this, {root, lab, kept: new Kept(lab)});
      this.flow = node("div", {class: "flow"});
      this.status = node("p", {class: "progress", role: "status"});
      this.root.append(this.welcome(), this.flow);
      const state = this.kept.read();
      if (state) this.begin(state);
      addEventListener("storage", (event) => { if (event.key === this.kept.key || event.key === null) this.elsewhere(); }); // another tab
      addEventListener("beforeunload", (event) => { if (this.state && !this.kept.works && !this.ended) event.preventDefault(); });
    }

    welcome() {
      const lab = this.lab, name = node("input", {id: "student", autocomplete: "off", maxlength: 200});
      const trouble = node("p", {class: "says", role: "alert"});
      const start = (event) => {
        event.preventDefault();
        const student = name.value.trim().split(/\s+/).join(" ");
        try {
          this.begin({student: student || null, seed: student ? judge.seedOf(student) : 0, started: now(), ended: null, predictions: {}, answers: [], open: null});
        } catch (error) { trouble.textContent = `Your name or number: ${error.message}.`; }
      };
      const aims = node("ul", {}, ...lab.aims.map((aim) => node("li", {}, html(aim))));
      this.form = node("form", {class: "start", onsubmit: start},
        node("label", {for: "student"}, "Your name or number, which gives you numbers of your own (or nothing):"), name, node("button", {}, "Start"), trouble);
      return node("div", {class: "welcome"}, node("div", {class: "dim"}, html(`About ${lab.minutes} minutes. You need ${lab.needs}. You will learn to`)), aims, this.form);
    }

    begin(state) {
      const lab = this.lab, names = Object.keys(lab.parameters);
      let draw = 0; // the combination of the parameters' values, the last one turning fastest
      for (const name of names) draw = draw * lab.parameters[name].length + judge.chosen(state.seed, name, lab.parameters[name].length);
      this.state = state;
      this.drawn = lab.draws[draw];
      this.form.hidden = true;
      const whose = state.student ? `Lab of ${state.student}.` : "The lab as it is written.";
      const again = node("button", {type: "button", class: "quiet", onclick: () => this.restart()}, "Start over");
      const hand = node("button", {type: "button", onclick: () => this.handIn()}, "Save the answer file");
      this.flow.replaceChildren(node("div", {class: "bar"}, node("span", {}, whose), this.status, hand, again), html(this.drawn.text));
      this.queue = this.drawn.parts.flatMap((part, i) => [{kind: "part", title: `Part ${i + 1} of ${this.drawn.parts.length}: ${part.title}`, text: part.text}, ...part.steps]);
      this.answered = new Map(state.answers.map((one) => [one.id, one]));
      this.kept.write(state);
      if (!this.kept.works) this.flow.firstChild.after(node("p", {class: "says", role: "alert"}, "This browser keeps nothing: save the answer file before you leave this page."));
      this.ended = false;
      this.advance(!state.answers.length);
    }
    elsewhere() { // what another tab has done counts
      const state = this.kept.read();
      this.ended = false;
      if (state) this.begin(state);
      else { this.flow.replaceChildren(); this.form.hidden = false; }
    }
    restart() {
      if (this.state.answers.length && !confirm("Throw away what you have done?")) return;
      this.kept.clear();
      this.flow.replaceChildren();
      this.form.hidden = false;
      this.form.querySelector("input").focus();
    }
    save() { this.kept.write(this.state); this.score(); }
    get points() { return Math.round(100 * this.state.answers.reduce((sum, one) => sum + one.points, 0)) / 100; }
    score() {
      this.status.textContent = `${this.state.answers.length} of ${plural(this.lab.questions, "question")}, ${this.points} of ${plural(this.lab.of, "point")}`;
    }

    // all steps up to the next one that waits for something; where a student goes on, the eye goes there
    advance(moves = true) {
      let first = null;
      while (this.queue.length) {
        const step = this.queue.shift(), made = this.made(step);
        this.flow.append(made);
        first ||= made;
        if (!made.dataset.done && (step.kind === "predict" || step.rules)) break;
      }
      if (!this.queue.length && !this.ended && !this.flow.querySelector(".open")) this.flow.append(this.end());
      this.score();
      if (moves && first) { first.tabIndex = -1; first.focus({preventScroll: true}); first.scrollIntoView({block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth"}); }
    }
    made(step) {
      switch (step.kind) {
        case "part": return node("section", {class: "part"}, node("h2", {}, step.title), html(step.text));
        case "run": return node("section", {class: "run"}, node("p", {}, node("b", {}, step.run), ": ", node("code", {}, step.command)));
        case "table": return node("section", {}, table(step.rows));
        case "compare": return this.compared(step);
        case "watch": return this.watch(step);
        case "explore": return this.explore(step);
        case "predict": return this.predict(step);
        default: return this.question(step);
      }
    }
    compared(step) {
      const made = this.state.predictions[step.id];
      made.simulated = step.value;
      return node("section", {}, node("p", {}, node("b", {}, "Compare. "), `You predicted ${judge.shown(made.predicted)} ${step.unit}; it is ${step.shown} ${step.unit}.`));
    }
    watch(step) {
      const film = step.film ? node("p", {}, node("a", {href: step.film, target: "_blank", rel: "noopener"}, "Open the film")) : null;
      return node("section", {class: "watch"}, labelled("Watch. ", step.text), film, node("p", {class: "dim"}, node("code", {}, step.command)));
    }
    explore(step) {
      const tried = [], shown = node("div", {"aria-live": "polite"}), [fields, values] = selects(step.knobs);
      const turn = (event) => {
        event.preventDefault();
        const setting = values(), name = setting.join(", ");
        if (!tried.some((one) => one.name === name)) tried.push({name, column: step.settings[setting.join("\n")]});
        const last = tried.slice(-4);
        shown.replaceChildren(table([["", ...last.map((one) => one.name)], ...step.labels.map((label, i) => [label, ...last.map((one) => one.column[i])])]));
      };
      return node("section", {class: "explore"}, labelled("Explore. ", step.text), node("form", {onsubmit: turn}, fields, node("button", {}, "Run")), shown);
    }
    predict(step) {
      const input = node("input", {id: step.id, autocomplete: "off", inputmode: "decimal", maxlength: 200}), trouble = node("p", {class: "says", role: "alert"});
      const button = node("button", {}, "Predict"), made = node("section", {class: "predict open", id: `step-${step.id}`});
      const close = () => { input.disabled = true; button.hidden = true; made.classList.remove("open"); made.dataset.done = "1"; };
      const guess = (event) => {
        event.preventDefault();
        try {
          this.state.predictions[step.id] = {predicted: judge.predicted(step, input.value), simulated: null};
          trouble.textContent = "";
          close();
          this.advance();
          this.save();
        } catch (error) {
          if (!(error instanceof judge.Unreadable)) throw error;
          trouble.textContent = `${error.message}.`;
        }
      };
      made.append(labelled("Predict. ", step.text, step.id), node("form", {onsubmit: guess}, input, node("span", {class: "unit"}, step.unit), button), trouble);
      const before = this.state.predictions[step.id];
      if (before) { input.value = judge.shown(before.predicted); close(); }
      return made;
    }

    question(step) {
      const seed = this.state.seed, listed = step.listed || [], places = judge.order(seed, step.id, listed.length);
      const rules = judge.drawn(step.rules, places), texts = places.map((place) => listed[place]);
      const before = this.answered.get(step.id), open = this.state.open && this.state.open.id === step.id ? this.state.open : null;
      const tries = open || {id: step.id, typed: [], hints: 0, seen: 0, wrong: 0, right: false, share: 1, says: []};
      const made = node("section", {class: `question ${step.kind} open`, id: `step-${step.id}`}), says = node("div", {class: "says", role: "status", "aria-live": "polite"});
      const field = fieldOf(step, rules, texts);
      const check = node("button", {}, step.kind === "design" ? "Try" : step.kind === "write" ? "Hand in" : "Check");
      const hint = node("button", {type: "button", class: "quiet", onclick: () => { say(judge.hint(rules, tries.seen), "hint"); if (tries.seen < judge.hintsOf(rules)) tries.hints++; tries.seen++; keep(); }}, "Hint");
      const done = step.kind === "design" ? node("button", {type: "button", class: "quiet", hidden: true, onclick: () => finish(judge.solution(rules))}, "Take the best so far") : null;
      const say = (text, kind) => { tries.says.push([text, kind]); says.append(said(text, kind)); };
      const keep = () => { this.state.open = tries; this.save(); };
      const close = () => {
        for (const one of [check, hint, done]) if (one) one.hidden = true;
        for (const one of made.querySelectorAll("input, select, textarea, .mover")) one.disabled = true;
        made.classList.remove("open");
        made.dataset.done = "1";
      };
      const finish = (last) => {
        if (last) say(last, "solution");
        const points = judge.worth(rules, tries, tries.wrong, tries.hints);
        const answer = {id: step.id, typed: tries.typed, right: tries.right, points, hints: tries.hints, says: tries.says};
        this.state.answers.push(answer);
        this.state.open = null;
        close();
        if (this.state.answers.length === this.lab.questions) this.state.ended = now();
        this.advance();
        this.save();
      };
      const answer = (event) => {
        event.preventDefault();
        const text = field.value();
        if (!text.trim()) return;
        const verdict = judge.judged(rules, text, tries.wrong, tries.seen);
        if (verdict.hinted) tries.seen++;
        if (verdict.counts) tries.typed.push(text);
        if (verdict.counts && !verdict.right) tries.wrong++;
        if (verdict.right && (!tries.right || verdict.share > tries.share)) Object.assign(tries, {right: true, share: verdict.share});
        if (done) done.hidden = !tries.right;
        say(verdict.says, verdict.right ? "right" : "wrong");
        if (verdict.over) finish();
        else if (rules.knobs && tries.typed.length > rules.allowed) finish(judge.solution(rules));
        else keep();
      };
      made.append(field.head(labelled(`${step.name}. `, step.text, field.id)), node("form", {onsubmit: answer}, field.element, node("span", {class: "buttons"}, check, hint, done)), says);
      for (const [text, kind] of (before ? before.says : tries.says)) says.append(said(text, kind));
      if (before) { field.set(before.typed.at(-1) || ""); close(); }
      else if (done) done.hidden = !tries.right;
      return made;
    }

    end() {
      this.ended = true;
      const first = this.state.answers.filter((one) => one.right && one.typed.length === 1 && !one.hints).length;
      const right = this.state.answers.filter((one) => one.right).length, rest = this.state.answers.length - right;
      const hand = node("button", {type: "button", onclick: () => this.handIn()}, "Save the answer file");
      return node("section", {class: "end"}, node("h2", {}, "Results"),
        node("p", {}, `${this.points} of ${plural(this.lab.of, "point")}: ${first} right at once, ${right - first} later, ${rest} with the solution shown.`),
        node("p", {}, hand, " It is what you hand in."), html(this.drawn.after));
    }
    get answerFile() {
      const {student, seed, started, ended, predictions, answers} = this.state, {lab, version, of} = this.lab;
      const finished = answers.length === this.lab.questions, own = answers.map(({says, ...one}) => one);
      const [hashes, seal] = judge.chained(`${lab}/${version}/${seed}`, own), plain = own.map((one, i) => ({...one, hashes: hashes[i]}));
      return {lab, version, student, seed, started, ended: ended || now(), finished, points: this.points, of, predictions, answers: plain, seal};
    }
    handIn() {
      const text = `${JSON.stringify(this.answerFile, null, 1)}\n`, url = URL.createObjectURL(new Blob([text], {type: "application/json"}));
      const name = (this.state.student || "answers").replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60);
      node("a", {href: url, download: `${this.lab.lab}-${name}.json`}).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    }
  }

  function labelled(name, text, id = null) {
    const made = html(text), first = made.querySelector("p") || made;
    first.prepend(node("b", {}, name));
    if (!id) return made;
    const label = node("label", {for: id});
    label.append(...first.childNodes);
    first.append(label);
    return made;
  }
  function said(text, kind) { // tables as they are, the last paragraph as a text
    const parts = text.split("\n\n"), last = parts.pop();
    return node("div", {class: kind}, ...parts.map((one) => node("pre", {tabindex: 0}, one)), node("p", {}, last));
  }
  function table(rows) {
    const line = (tag, cells) => node("tr", {}, ...cells.map((cell, i) => i ? node(tag, {class: "number"}, cell) : node(tag === "th" ? "td" : "th", tag === "th" ? {} : {scope: "row"}, cell)));
    return node("div", {class: "table", tabindex: 0, role: "region", "aria-label": "figures"}, node("table", {}, node("thead", {}, line("th", rows[0])), node("tbody", {}, ...rows.slice(1).map((row) => line("td", row)))));
  }
  let several = 0;
  function selects(knobs) {
    const made = Object.entries(knobs).map(([name, values]) => {
      const id = `knob-${several++}`, select = node("select", {id}, ...values.map((value) => node("option", {value}, value)));
      return [node("label", {for: id}, name, select), select];
    });
    return [node("div", {class: "knobs"}, ...made.map(([label]) => label)), () => made.map(([, select]) => select.value), (texts) => made.forEach(([, select], i) => { select.value = texts[i]; })];
  }
  // how an answer of a kind is given: as a text in the end, as a terminal takes it
  function fieldOf(step, rules, texts) {
    const id = `answer-${step.id}`, same = (head) => head;
    if (step.kind === "choose") {
      const radios = texts.map((text, i) => node("input", {type: "radio", name: id, value: String(i + 1), id: `${id}-${i}`}));
      const element = node("div", {class: "choices", role: "radiogroup", "aria-labelledby": `${id}-asked`}, ...texts.map((text, i) => node("label", {for: `${id}-${i}`}, radios[i], node("span", {}, text))));
      return {id: null, element, value: () => (radios.find((one) => one.checked) || {value: ""}).value, set: (text) => { const one = radios[Number(text) - 1]; if (one) one.checked = true; },
        head: (head) => { head.id = `${id}-asked`; return head; }};
    }
    if (step.kind === "order") {
      const list = node("ol", {class: "items"});
      const move = (item, by) => {
        const all = [...list.children], place = all.indexOf(item), other = all[place + by];
        if (!other) return;
        if (by < 0) other.before(item); else other.after(item);
        item.querySelector(by < 0 ? ".up" : ".down").focus();
      };
      const item = (text, i) => {
        const made = node("li", {"data-place": i + 1});
        made.append(node("span", {}, text), node("button", {type: "button", class: "mover up", "aria-label": `up: ${text}`, onclick: () => move(made, -1)}, "↑"),
          node("button", {type: "button", class: "mover down", "aria-label": `down: ${text}`, onclick: () => move(made, 1)}, "↓"));
        return made;
      };
      list.append(...texts.map(item));
      if (rules.right.every((place, i) => place === i + 1)) list.append(list.firstChild); // it does not begin solved
      const set = (text) => { for (const place of text.split(" ")) { const one = list.querySelector(`[data-place="${CSS.escape(place)}"]`); if (one) list.append(one); } };
      return {id: null, element: list, value: () => [...list.children].map((one) => one.dataset.place).join(" "), set, head: same};
    }
    if (step.kind === "design") {
      const [element, values, set] = selects(rules.knobs);
      return {id: null, element, value: () => Object.keys(rules.knobs).map((name, i) => `${name}=${values()[i]}`).join("; "), head: same,
        set: (text) => set(text.split(";").map((one) => one.slice(one.indexOf("=") + 1).trim()))};
    }
    const long = step.kind === "write";
    const input = long ? node("textarea", {id, rows: 4, maxlength: 4000}) : node("input", {id, autocomplete: "off", maxlength: 200});
    return {id, head: same, element: node("span", {class: long ? "long" : "short"}, input, long ? null : node("span", {class: "unit"}, step.unit)),
      value: () => input.value.replace(/\s+/g, " "), set: (text) => { input.value = text; }};
  }

  for (const root of document.querySelectorAll(".lab")) root.page = new LabPage(root, JSON.parse(root.querySelector("script").textContent));
})();
