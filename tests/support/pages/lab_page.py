"""A student in front of a lab's page: answers each step as a user does, with the keyboard's and mouse's means."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mcusim.labs.grader import Rules
from mcusim.labs.lab import Arrange, Ask, Choose, Design, Predict, Step, Write

# what the page judges with: the rules of a question of a student, and verdicts of texts after so many wrong answers, of
# which one had no hint
RULES_IN_PAGE = """([id, seed, texts, tries]) => {
  const lab = document.querySelector(".lab").page.lab;
  let draw = 0;
  for (const name of Object.keys(lab.parameters)) {
    const count = lab.parameters[name].length;
    draw = draw * count + labJudge.chosen(seed, name, count);
  }
  const step = lab.draws[draw].parts.flatMap((part) => part.steps).find((one) => one.id === id && one.rules);
  const rules = labJudge.drawn(step.rules, labJudge.order(seed, id, (step.listed || []).length));
  const verdicts = texts.flatMap((text) => tries.map((tried) => {
    const found = labJudge.judged(rules, text, tried, Math.max(0, tried - 1));
    return [found.right, found.says, found.counts, found.over, found.share, found.mistake, found.hinted];
  }));
  return {rules, verdicts};
}"""


def plain_rules(rules: Rules) -> Any:
    """As JSON has them."""
    return json.loads(json.dumps(rules.to_json()))


def start(page: Any, student: str = "") -> None:
    """Begin the lab."""
    page.fill("#student", student)
    page.click(".start button")


def typed_into(page: Any, step: Step, text: str) -> None:
    """Give ``text`` as an answer to a question, by its own fields."""
    place = f"#step-{getattr(step, 'id', '')}"
    match step:
        case Ask() | Predict():
            page.fill(f"{place} input", text)
        case Write():
            page.fill(f"{place} textarea", text)
        case Choose():
            page.check(f"{place} input >> nth={int(text) - 1}")
        case Arrange():
            for seat, item in enumerate(text.split()):
                order = [one.get_attribute("data-place") for one in page.locator(f"{place} li").all()]
                for _ in range(order.index(item) - seat):
                    page.click(f"{place} li[data-place='{item}'] .up")
        case Design():
            for number, value in enumerate(text.split(";")):
                page.select_option(f"{place} select >> nth={number}", value.rpartition("=")[2].strip())
    page.click(f"{place} form button:not(.mover) >> nth=0")


def do_step(page: Any, step: Step, texts: Sequence[str]) -> None:
    """Answer a step with one text after the other, as long as it asks; ``?`` asks for a hint."""
    place = f"#step-{getattr(step, 'id', '')}"
    for text in texts:
        if page.locator(f"{place}.open").count() == 0:
            return
        if text == "?":
            page.click(f"{place} button:has-text('Hint')")
        else:
            typed_into(page, step, text)


def answer_file(page: Any) -> Mapping[str, Any]:
    """What the page saves to hand in."""
    with page.expect_download() as download:
        page.click(".end button")
    found: Mapping[str, Any] = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    return found


def axe_findings(page: Any) -> list[str]:
    """What axe-core holds for serious or critical."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['help']}: {node['html'][:120]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
