"use strict";
// Judges answers as mcusim/labs/grader.py does, from the same data; numbers of students as mcusim/labs/draw.py has them.
const labJudge = (() => {
  const MOST_SEED = 999999, ROUNDING = 1e-9, COST = 0.25, DONE = "done";
  const UNITS = {
    "%": {"%": 1, percent: 1},
    times: {times: 1, fold: 1, x: 1, "×": 1},
    ms: {ms: 1, milliseconds: 1, s: 1e3, seconds: 1e3, us: 1e-3, "µs": 1e-3},
    B: {b: 1, bytes: 1, kib: 1024},
  };
  class Unreadable extends Error {}

  // one hash: FNV-1a of 32 bits, finished as MurmurHash3 does
  function hashed(text) {
    let value = 0x811c9dc5;
    for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193);
    for (const [shift, factor] of [[16, 0x85ebca6b], [13, 0xc2b2ae35]]) value = Math.imul(value ^ (value >>> shift), factor);
    return (value ^ (value >>> 16)) >>> 0;
  }
  function seedOf(student) {
    const name = student.trim().split(/\s+/).join(" ").toLowerCase();
    if (!name || [...name].length > 80 || /[\p{C}\p{Zl}\p{Zp}]/u.test(name)) throw new Unreadable("a name or number of 1 to 80 characters");
    return hashed(name) % MOST_SEED + 1;
  }
  // which of several values, and in which order a list of so many comes
  const chosen = (seed, name, count) => seed ? hashed(`${seed}/${name}`) % count : 0;
  function order(seed, id, count) {
    const places = [...Array(count).keys()], keys = places.map((i) => hashed(`${seed}/${id}/${i}`));
    return seed ? places.sort((a, b) => keys[a] - keys[b] || a - b) : places;
  }
  // the rules of a question whose choices or items come in another order: places are those that are seen
  function drawn(rules, places) {
    const seen = (place) => places.indexOf(place - 1) + 1;
    if (rules.kind === "choose") return {...rules, right: seen(rules.right), wrong: rules.wrong.map(([place, ...rest]) => [seen(place), ...rest])};
    if (rules.kind === "order") return {...rules, right: rules.right.map(seen), named: places.map((place) => rules.named[place])};
    return rules;
  }

  // hashes of an answer file as mcusim/labs/chain.py has them: each try has one of all before it
  function chained(begin, answers) {
    const link = (...parts) => hashed(parts.join("\n")).toString(16).padStart(8, "0");
    let last = link(begin);
    const hashes = answers.map(({id, typed, hints}) => {
      const own = typed.map((text) => (last = link(last, id, text)));
      last = link(last, id, String(hints));
      return own;
    });
    return [hashes, last];
  }

  // numbers as texts: 1,234,567 from 10,000 on, below that four significant digits, halves to the even digit
  function digits(value, places) { // of a positive number, so many digits behind the point
    const scale = 10 ** places, down = Math.floor(value * scale);
    if (value * scale - down === 0.5) return ((down + down % 2) / scale).toFixed(places);
    return value.toFixed(places);
  }
  function shown(value) {
    const sign = value < 0 || Object.is(value, -0) ? "-" : "", size = Math.abs(value);
    if (size >= 10000) {
      const whole = size < 1e21 ? digits(size, 0) : BigInt(size).toString();
      return sign + whole.replace(/\B(?=(\d{3})+$)/g, ",");
    }
    if (size === 0) return `${sign}0`;
    let exponent = Number(size.toExponential(3).split("e")[1]);
    if (exponent < -4) {
      const [mantissa, power] = size.toExponential(3).split("e");
      return `${sign}${mantissa.replace(/\.?0+$/, "")}e-${String(-power).padStart(2, "0")}`;
    }
    let text = digits(size, Math.max(0, 3 - exponent));
    if (exponent >= 3 && Number(text) >= 10000) return `${sign}1e+04`;
    return sign + (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  }

  // arithmetic as students write it: + - * / // % ** ( ), functions, numbers; null where it has no value
  const FUNCTIONS = {abs: Math.abs, ceil: Math.ceil, exp: Math.exp, floor: Math.floor, log: Math.log, log10: Math.log10, log2: Math.log2, sqrt: Math.sqrt};
  function computed(text) {
    if (text.length > 500) return null;
    const token = /\s*(?:(0[xX][0-9a-fA-F]+|(?:[0-9]+(?:_[0-9]+)*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(\*\*|\/\/|[-+*/%(),])|([a-z][a-z0-9]*))\s*/y;
    const tokens = [];
    for (token.lastIndex = 0; token.lastIndex < text.length;) {
      const found = token.exec(text);
      if (!found) return null;
      if (found[1] && /^0[0-9_]*[1-9]/.test(found[1]) && /^[0-9_]+$/.test(found[1])) return null; // 007
      tokens.push(found[1] ? Number(found[1].replaceAll("_", "")) : found[2] || found[3]);
    }
    let place = 0;
    const take = (...wanted) => wanted.includes(tokens[place]) ? tokens[place++] : null;
    const fail = () => { throw new Unreadable("is not an expression"); };
    function sum() {
      let value = product();
      for (let sign; (sign = take("+", "-"));) value = sign === "+" ? value + product() : value - product();
      return value;
    }
    function product() {
      let value = signed();
      for (let sign; (sign = take("*", "/", "//", "%"));) {
        const by = signed();
        if (sign !== "*" && by === 0) fail();
        if (sign === "*") value *= by;
        else if (sign === "/") value /= by;
        else { const whole = Math.floor(value / by); value = sign === "//" ? whole : value - by * whole; }
      }
      return value;
    }
    function signed() {
      const sign = take("+", "-");
      if (sign) return sign === "-" ? -signed() : signed();
      const base = atom();
      return take("**") ? base ** signed() : base;
    }
    function atom() {
      if (typeof tokens[place] === "number") return tokens[place++];
      const name = tokens[place];
      if (typeof name === "string" && /^[a-z]/.test(name)) {
        place++;
        if (!take("(")) fail();
        const values = [sum()];
        while (take(",")) values.push(sum());
        if (!take(")")) fail();
        if ((name === "min" || name === "max") && values.length > 1) return Math[name](...values);
        if (name === "round" && values.length === 1) return values[0] % 1 === 0.5 || values[0] % 1 === -0.5 ? 2 * Math.round(values[0] / 2) : Math.round(values[0]);
        return name in FUNCTIONS && values.length === 1 ? FUNCTIONS[name](values[0]) : fail();
      }
      if (!take("(")) fail();
      const value = sum();
      return take(")") ? value : fail();
    }
    try {
      const value = sum();
      return place === tokens.length && Number.isFinite(value) ? value : null;
    } catch (error) {
      if (error instanceof Unreadable) return null;
      throw error;
    }
  }

  function quoted(text) { // as Python writes a text
    const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
    const written = [...text].map((c) => c === "\\" || c === quote ? `\\${c}` : c === "\n" ? "\\n" : c === "\r" ? "\\r" : c === "\t" ? "\\t"
      : /[\p{C}\p{Zl}\p{Zp}]/u.test(c) || (/\p{Zs}/u.test(c) && c !== " ")
        ? (c.codePointAt() < 256 ? `\\x${c.codePointAt().toString(16).padStart(2, "0")}` : `\\u${c.codePointAt().toString(16).padStart(4, "0")}`) : c);
    return quote + written.join("") + quote;
  }
  const first = (text, count) => [...text].slice(0, count).join("");
  const THOUSANDS = /(?<![\d.])(\d{1,3}(?:,\d{3})+)(?![\d,])/g, UNIT = /^(.*?[\d.)])\s*([^\d\s.,()*/+-][^\d()]*)$/;

  function number(text, unit) {
    let plain = text.trim().replace(/^[~≈ ]+/, "").replace(THOUSANDS, (found) => found.replaceAll(",", "")), factor = 1;
    const found = UNIT.exec(plain);
    if (found) {
      const named = found[2].trim().replace(/\.+$/, ""), known = Object.hasOwn(UNITS, unit) ? UNITS[unit] : {[unit]: 1};
      const meant = [named.toLowerCase(), `${named.toLowerCase()}s`].find((one) => Object.hasOwn(known, one));
      if (meant === undefined) throw new Unreadable(`${quoted(first(named, 40))} is not what is asked for; the answer is in ${unit}`);
      [plain, factor] = [found[1], known[meant]];
    }
    plain = plain.replace(/(?<=\d),(?=\d)/g, "."); // a decimal comma
    const value = computed(plain.trim());
    if (value === null) throw new Unreadable(`${quoted(first(text.trim(), 40))} is not a number; type one in ${unit}, or a calculation such as 3 * 4.5`);
    return value * factor;
  }

  const near = (a, b, relative, absolute = 0) => a === b || Math.abs(a - b) <= Math.max(relative * Math.max(Math.abs(a), Math.abs(b)), absolute);
  const verdict = (right, says, others) => ({right, says, counts: true, over: false, share: 1, mistake: "", hinted: false, ...others});
  function solution(rules) {
    if (rules.kind === "choose") return `It is ${rules.right}: ${rules.solution}`;
    if (rules.kind === "order") return `It is ${rules.right.join(" ")}: ${rules.right.map((place) => rules.named[place - 1]).join("; ")}. ${rules.solution}`.trim();
    return rules.solution;
  }
  function hint(rules, number) {
    if (rules.hints.length) return rules.hints[Math.min(number, rules.hints.length - 1)];
    if (rules.kind === "choose") return "Look at the tables: which of the answers do the numbers contradict?";
    if (rules.kind === "write") return "There is no wrong answer: write what the numbers tell you, and why.";
    return "Look at the figures of what you tried.";
  }
  const wrong = (rules, says, tries, mistake = "") =>
    tries >= rules.allowed ? verdict(false, `${says} ${solution(rules)}`, {over: true, mistake}) : verdict(false, says, {mistake});
  // a wrong answer that nothing else is known of: with the next hint that was not shown yet
  const hinted = (rules, says, tries, seen) => tries >= rules.allowed || seen >= rules.hints.length
    ? wrong(rules, says, tries) : verdict(false, `${says} ${rules.hints[seen]}`, {hinted: true});
  const hintsOf = (rules) => Math.max(1, rules.hints.length);
  const right = (rules) => verdict(true, ["Right.", rules.exactly, rules.why].filter(Boolean).join(" "), {over: true});

  function ofNumber(rules, text, tries, seen) {
    const given = number(text, rules.unit);
    if (near(given, rules.right, rules.near + ROUNDING, ROUNDING)) return right(rules);
    const close = Math.max(rules.near, 0.002);
    if (text.match(THOUSANDS) && near(given, rules.right * 1000, close)) {
      const read = `A comma before three digits is read as one between thousands, so this was ${shown(given)}.`;
      return verdict(false, `${read} Write a decimal number with a point.`, {counts: false});
    }
    for (const [value, says, name] of rules.wrong) if (near(given, value, close)) return wrong(rules, `Not yet. ${says}`, tries, name);
    const known = diagnosed(given, rules.right, rules.unit, close);
    if (known) return wrong(rules, known, tries);
    return hinted(rules, `Not yet: ${shown(given)} is ${given < rules.right ? "too low" : "too high"}.`, tries, seen);
  }
  function diagnosed(given, value, unit, close) {
    if (near(given, -value, close)) return "Not yet: the number is right, its sign is not.";
    if (unit === "%" && near(given, value / 100, close)) return "Not yet: that is the fraction. In percent it is 100 times as much.";
    for (const factor of [1000, 1024]) {
      if (near(given, value * factor, close) || near(given, value / factor, close)) return `Not yet: that is off by a factor of ${factor}. The question asks for ${unit}.`;
    }
    return "";
  }
  function placeOf(text, count) {
    const plain = text.replace(/[.)]+$/, ""), place = /^[0-9]{1,3}$/.test(plain) ? Number(plain) : 0;
    if (place < 1 || place > count) throw new Unreadable(`${quoted(first(text, 40))} is none of the answers; type a number from 1 to ${count}`);
    return place;
  }
  function ofChoice(rules, text, tries) {
    const place = placeOf(text, rules.count);
    if (place === rules.right) return right(rules);
    const [, says, name] = rules.wrong.find((one) => one[0] === place);
    return wrong(rules, `No. ${says}`, tries, name);
  }
  function ofOrder(rules, text, tries, seen) {
    const places = text.split(/[\s,;<>]+/).filter(Boolean).map((word) => placeOf(word, rules.count));
    if ([...places].sort((a, b) => a - b).join() !== [...Array(rules.count).keys()].map((i) => i + 1).join()) {
      throw new Unreadable(`type each number from 1 to ${rules.count} once, in order: ${[..."312".slice(0, rules.count)].join(" ")}`);
    }
    if (places.join() === rules.right.join()) return right(rules);
    if ([...places].reverse().join() === rules.right.join()) return wrong(rules, "Not yet: that is the other way round.", tries, "the other way round");
    const misplaced = places.findIndex((place, i) => place !== rules.right[i]) + 1;
    return hinted(rules, `Not yet: from place ${misplaced} on it is another.`, tries, seen);
  }
  function ofText(rules, text) {
    if (text.split(/\s+/).filter(Boolean).length < rules.count) throw new Unreadable(`write at least ${rules.count} words`);
    return verdict(true, `Noted. Compare with this: ${rules.solution}`, {over: true});
  }
  const wholeNumbers = (values) => values.every((value) => /^[0-9]{1,3}$/.test(value));
  function knobValues(knobs, text) {
    const names = Object.keys(knobs);
    const words = (names.length === 1 ? [text] : text.split(/[,;]/.test(text) ? /[,;]/ : /\s+/)).map((word) => word.trim()).filter(Boolean);
    if (words.length !== names.length) throw new Unreadable(`type one for each of ${names.join(", ")}: ${names.map((name) => wholeNumbers(knobs[name]) ? knobs[name][0] : "1").join(", ")}`);
    return words.map((word, i) => {
      const values = knobs[names[i]], named = word.includes("="), plain = word.slice(word.lastIndexOf("=") + 1).trim();
      const value = !named && !wholeNumbers(values) && /^[0-9]{1,2}$/.test(plain) && plain >= 1 && plain <= values.length ? values[plain - 1] : plain;
      if (!values.includes(value)) throw new Unreadable(`${names[i]}: ${quoted(first(plain, 40))} is none of its values; type ${wholeNumbers(values) ? `one of ${values.join(", ")}` : `a number from 1 to ${values.length}`}`);
      return value;
    });
  }
  function ofDesign(rules, text, tries) {
    const values = knobValues(rules.knobs, text), setting = rules.settings.find((one) => one.values.join("\n") === values.join("\n"));
    if (setting.goal === null || setting.missed) return wrong(rules, `${setting.table}\n\nThat does not do. ${setting.missed}`, tries, "requirement");
    const share = setting.goal <= rules.best * (1 + rules.near) ? 1 : rules.best / setting.goal;
    const good = `${setting.table}\n\nThat does, with ${setting.shown} ${rules.unit}`;
    if (share === 1) return verdict(true, `${good}: the best there is. ${rules.why}`.trimEnd(), {over: true});
    const percent = digits(100 * share, 0);
    return verdict(true, `${good}: ${percent} % of the best that is known. Try to improve it, or take it as it is.`, {share});
  }
  const JUDGES = {ask: ofNumber, choose: ofChoice, order: ofOrder, write: ofText, design: ofDesign};
  function judged(rules, text, tries, seen = tries) { // hints that were shown
    try {
      return JUDGES[rules.kind](rules, text.trim(), tries, seen);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      return verdict(false, `${error.message}.`, {counts: false});
    }
  }
  function worth(rules, best, mistakes, asked) {
    const hints = Math.min(asked, hintsOf(rules));
    return best.right ? Math.round(100 * rules.points * best.share * Math.max(0, 1 - COST * (mistakes + hints))) / 100 : 0;
  }
  function predicted(step, text) {
    const value = number(text, step.unit);
    if (value < step.low || value > step.high) throw new Unreadable(`${shown(value)} ${step.unit} cannot be: guess from ${step.lowest} to ${step.highest}`);
    return value;
  }
  return {hashed, chained, seedOf, chosen, order, drawn, shown, number, judged, worth, hint, hintsOf, solution, predicted, knobValues, Unreadable, DONE};
})();
