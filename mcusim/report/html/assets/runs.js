"use strict";
// rows of a table sorted by a click on a heading, and filtered by their data-* and their text; what is left is summed up
(() => {
  const median = (sizes) => {
    const sorted = [...sizes].sort((a, b) => a - b), half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };
  const signed = (value) => `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(1)}%`;

  function errors(cells) {
    const found = cells.map((one) => Number(one.value)), kept = cells.filter((one) => one.counted);
    const worst = found.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
    const text = `median ${median(found.map(Math.abs)).toFixed(1)} %, worst ${signed(worst)}`;
    const inside = kept.filter((one) => one.counted === "True").length;
    return kept.length ? `${text}, ${inside} of ${kept.length} inside` : text;
  }

  function summed(rows, all) {
    const texts = [`${rows.length} of ${all} runs shown`], found = {};
    for (const cell of rows.flatMap((row) => [...row.querySelectorAll("[data-counted]")]))
      (found[cell.dataset.quantity] ||= []).push(cell.dataset);
    for (const [quantity, every] of Object.entries(found)) {
      const known = every.filter((one) => one.flags === "known"), both = known.length && known.length < every.length;
      const first = known.length ? known : every, more = both ? `; with unknown flags ${errors(every)}` : "";
      texts.push(`${quantity}, ${first.length} used in no fit: ${errors(first)}${more}`);
    }
    return texts.join(". ");
  }

  for (const section of document.querySelectorAll(".runs")) {
    const rows = [...section.querySelectorAll("tbody tr")], filters = [...section.querySelectorAll("[data-filter]")];
    const status = section.querySelector(".shown");
    const passes = (row) => filters.every(({value, dataset: {filter}}) => {
      if (!value) return true;
      if (filter === "text") return value.toLowerCase().split(/\s+/).every((word) => row.textContent.toLowerCase().includes(word));
      return filter === "use" ? row.dataset.use.split(" ").includes(value) : row.dataset[filter] === value;
    });
    const apply = () => {
      for (const row of rows) row.hidden = !passes(row);
      status.textContent = summed(rows.filter((row) => !row.hidden), rows.length);
    };
    for (const filter of filters) filter.addEventListener("input", apply);
    apply();

    for (const table of section.querySelectorAll("table")) {
      const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells], body = table.tBodies[0];
      for (const [column, head] of heads.entries()) {
        const button = head.querySelector("button");
        if (!button) continue;
        const signless = button.textContent === "error", number = head.classList.contains("number");
        const key = (row) => {
          const cell = row.cells[column];
          if (!number) return cell.textContent.toLowerCase();
          return "value" in cell.dataset ? (signless ? Math.abs : Number)(Number(cell.dataset.value)) : null;
        };
        button.addEventListener("click", () => {
          const before = head.getAttribute("aria-sort"); // largest first for errors, smallest first for the others
          const down = before === "none" ? signless : before === "ascending";
          for (const other of heads) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
          head.setAttribute("aria-sort", down ? "descending" : "ascending");
          const keyed = [...body.rows].map((row) => [key(row), row]);
          keyed.sort(([a], [b]) => {
            if (a === null || b === null) return (a === null) - (b === null); // what has no figure stays last
            const order = number ? a - b : a.localeCompare(b);
            return down ? -order : order;
          });
          body.append(...keyed.map(([, row]) => row));
        });
      }
    }
  }
})();
