"""Plots that a user asks for, on the page and as files."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.report.figure_files import figure_files
from mcusim.report.sweep.figures.plots import PlotRequest, check_plot, plot_figures, read_plot
from mcusim.report.sweep.figures.point_table import Sweep
from mcusim.report.sweep.page import sweep_figures
from tests.report.sweep.figures.test_sweep_page import Study, row, table

BUDGETS = (None, 16384, 65536, 1048576)


def swept(*budgets: int | None) -> Sweep:
    """Latency falls with the budget a, is twice as long on y, and a fifth more where b is 2."""
    rows = [
        row("m", machine, budget, b, (1 + (machine == "y")) * (1 + 0.2 * (b == 2)) * 1e6 / (budget or 2**21))
        for machine in ("x", "y")
        for budget in budgets
        for b in (1, 2)
    ]
    return Sweep(rows, Study(units={"a": "B"}))


def test_a_line_for_each_value_of_others() -> None:
    [figure] = plot_figures(swept(*BUDGETS[:0:-1]), read_plot("x=a,y=latency_ms,by=machine"))
    slow, fast = reversed(figure.data)
    assert [line["name"] for line in figure.data] == ["x", "y"]
    assert fast["x"] == slow["x"] == [16, 64, 1024] and slow["y"] == [2 * y for y in fast["y"]]
    assert fast["y"] == pytest.approx([1e6 / budget for budget in BUDGETS[1:] if budget])  # the least over b
    assert "<b>m</b>: latency, ms by a, the least over b" in figure.caption
    axis = figure.layout["xaxis"]
    assert (axis["type"], axis["ticktext"], axis["title"]["text"]) == ("log", ["16", "64", "1024"], "a, KiB")
    both = plot_figures(swept(16384, 65536), read_plot("x=a,y=energy_mj,by=machine+b"))[0]
    assert [line["name"] for line in both.data] == ["x, 1", "x, 2", "y, 1", "y, 2"] and "type" not in both.layout[
        "xaxis"
    ]


def test_a_value_that_is_no_number_makes_categories() -> None:
    [figure] = plot_figures(swept(*BUDGETS), read_plot("x=a,y=latency_ms"))
    assert figure.data[0]["x"] == ["default", "16 KiB", "64 KiB", "1 MiB"] and not figure.layout["showlegend"]
    assert figure.layout["xaxis"]["type"] == "category"


def test_a_heat_map_over_any_two_inputs() -> None:
    [figure] = plot_figures(swept(16384, 65536), read_plot("x=b,y=a,z=energy_mj"))
    [cells] = figure.data
    assert (cells["x"], cells["y"]) == (["1", "2"], ["16 KiB", "64 KiB"])
    assert cells["text"] == [["122", "146"], ["30.5", "36.6"]] and "energy, mJ, by b and a" in figure.caption
    models = Sweep(table(("m", "n")).to_dict("records"), Study())
    assert len(plot_figures(models, read_plot("x=a,y=b"))) == 2  # one for each model
    assert plot_figures(models, read_plot("x=a,y=model"))[0].data[0]["y"] == ["m", "n"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("x=a", "is x=COLUMN,y=COLUMN"),
        ("a,b", "is x=COLUMN,y=COLUMN"),
        ("x=a,y=b,x=c", "is x=COLUMN,y=COLUMN"),
        ("x=a,y=,by=b", "is x=COLUMN,y=COLUMN"),
        ("x=a,y=latency", 'no column "latency" of numbers, did you mean latency_ms; it has model, machine'),
        ("x=latency_ms,y=energy_mj", "latency_ms is no input; x and by are, of model, machine"),
        ("x=a,y=latency_ms,by=a+b", "a is both x and by"),
        ("x=a,y=b,by=machine", "a heat map is over two inputs, x and y, without by"),
        ("x=a,y=a", "a heat map is over two inputs"),
        ("x=a,y=b,z=machine", "z is an output"),
        ("x=a,y=latency_ms,z=energy_mj", "z has no effect where y is an output, latency_ms"),
    ],
)
def test_what_cannot_be_drawn(text: str, error: str) -> None:
    with pytest.raises(UsageError, match=re.escape(error)):
        check_plot(read_plot(text), Study().inputs, ("latency_ms", "energy_mj"))


def test_figures_are_files_that_say_what_the_page_says() -> None:
    sweep = Sweep(table(("m", "n & $x_1$")).to_dict("records"), Study())
    requests = [PlotRequest("a", "latency_ms", ("machine",)), PlotRequest("a", "b")]
    figures = [figure for section in sweep_figures(sweep, requests).values() for figure in section]
    files = dict(figure_files(figures))
    names = sorted({name.rpartition(".")[0] for name in files})
    assert len(files) == 2 * len(figures)
    assert {"pareto-m", "effects-latency-ms", "latency-ms-over-a-m", "parallel-coordinates"} <= set(names)
    assert all(data.startswith(b"%PDF") for name, data in files.items() if name.endswith("pdf"))
    heat_map = texts(files["heat-map-latency-ms-over-a-b-m.svg"])
    assert {"1 KiB", "4 KiB", "10", "20", "60", "m: latency, ms, by a and b, the least over machine"} <= heat_map
    front = ElementTree.fromstring(files["pareto-n-x-1.svg"])
    assert any("n & $x_1$" in text for text in texts(files["pareto-n-x-1.svg"]))
    points = [use for use in front.iter("{http://www.w3.org/2000/svg}use") if "clip" in str(use.attrib) or use.get("x")]
    assert len(points) >= 2 * sum(point["model"] != "m" for point in sweep.ran)
    assert any(is_stairs(path.get("d", "")) for path in front.iter("{http://www.w3.org/2000/svg}path"))
    assert dict(figure_files(figures)) == files  # the same bytes


def is_stairs(path: str) -> bool:
    """Whether a line goes across and down by turns."""
    points = [tuple(map(float, pair.split())) for pair in re.findall(r"[ML] ([-\d.]+ [-\d.]+)", path)]
    turns = [(a[0] == b[0], a[1] == b[1]) for a, b in pairwise(points) if a != b]
    return len(turns) >= 2 and len(set(turns)) == 2 and all(x != y for x, y in turns)


def texts(svg: bytes) -> set[str]:
    """All texts of a picture."""
    root = ElementTree.fromstring(svg)
    return {"".join(text.itertext()).strip() for text in root.iter("{http://www.w3.org/2000/svg}text")}


STUDY = """
models = ["figure-1"]
machines = ["stm32f746g-disco"]
policies = ["internal", "external"]
[axes]
clock = ["108 MHz", "216 MHz"]
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    (tmp_path / "s.toml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    return ["sweep", "s.toml", "-j", "1"]


def test_plots_from_the_command_line(study: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    plot = ["--plot", "x=clock,y=latency_ms,by=policy"]
    assert main([*study, "-o", "t.parquet", "--figures", "f", "--html", "p.html", *plot]) == 0
    names = sorted(path.name for path in Path("f").iterdir())
    assert "latency-ms-over-clock-figure-1.svg" in names and len(names) == 12
    assert {"108", "216", "internal", "external"} <= texts(Path("f/latency-ms-over-clock-figure-1.svg").read_bytes())
    assert "by clock" in Path("p.html").read_text()
    capsys.readouterr()
    assert main(["sweep", "t.parquet", "--figures", "f", *plot]) == 2
    assert capsys.readouterr().err == "error: f has files; --force overwrites those of the same names\n"
    assert main(["sweep", "t.parquet", "--figures", "f", *plot, "--force"]) == 0


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--plot", "x=clock,y=latency_ms"], "--plot has no effect without --html or --figures"),
        (["--plot", "x=clok,y=latency_ms", "--html", "p.html"], 'no column "clok" of numbers, did you mean clock'),
        (["--figures", "no/f"], "cannot write into no/f"),
        (["--figures", "s.toml"], "cannot write into s.toml"),
    ],
)
def test_refused_before_the_work(
    words: list[str], error: str, study: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*study, "-o", "t.parquet", *words]) == 2
    assert error in capsys.readouterr().err and [path.name for path in Path().iterdir()] == ["s.toml"]


def test_without_matplotlib(
    study: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # as if it were not installed
    assert main([*study, "--figures", "f"]) == 2
    assert capsys.readouterr().err == (
        'error: --figures needs the package "matplotlib": pip install "mcusim[figures]"\n'
    )
