"""The laboratory from Python: the trials, plans and figures of the commands, and no others."""

from __future__ import annotations

import copy
import csv
import doctest
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
import warnings
import xml.etree.ElementTree as xml
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import goodarm as ga
import goodarm._laboratory
from goodarm import errors

REPOSITORY = Path(__file__).resolve().parents[3]
# What the command gave; a test of the command keeps these files true.
KEPT = Path(__file__).parent / "laboratory"
PLAN = REPOSITORY / "examples" / "plan.toml"
CAPITALS = REPOSITORY / "examples" / "capitals"

#: The same as `laboratory/experiment.toml`.
EXPERIMENT: dict[str, Any] = {
    "title": "small",
    "seed": 3,
    "repetitions": 4,
    "deltas": [0.1],
    "budgets": {"normalized": [0.5, 2]},
    "worlds": [
        {"name": "decoys", "means": {"expensive-decoys": {"prices": [1, 2, 4, 25], "scale": 1.5}}},
        {
            "name": "random",
            "means": {"random": {"arms": 5, "good": (0.2, 0.8), "price_max": 10.0}},
            "scores": "binary",
        },
    ],
    "methods": [
        {"name": "goodarm", "policy": "rcb"},
        {"name": "uniform", "policy": "uniform", "guarantee": "paper"},
    ],
}
#: The same as `examples/plan.toml`.
PLANNED: dict[str, Any] = {
    "delta": 0.02,
    "budget": 200_000,
    "verifiers": [
        {"name": "parseable final answer", "price": 1, "threshold": 0.5, "scores": "exact"},
        {"name": "one solution agrees", "price": 177, "threshold": 0.5, "scores": "binary"},
        {"name": "the majority of five agrees", "price": 884, "threshold": 0.5, "scores": "binary"},
    ],
    "answers": [
        {"count": 70, "means": [1.0, 0.88, 0.97], "spread": 0.08},
        {"count": 30, "means": [1.0, 0.25, 0.15], "spread": 0.1},
    ],
}


def changed(original: dict[str, Any], change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """A copy of an experiment or a plan with something else in it."""
    copied = copy.deepcopy(original)
    change(copied)
    return copied


def check_table(table: ga.Table, path: Path) -> None:
    """The table is that of the file, number for number."""
    with path.open(newline="") as file:
        names, *rows = csv.reader(file)
    assert table.column_names == names
    assert table.num_rows == len(rows)
    for column, name in enumerate(names):
        for value, text in zip(table[name], (row[column] for row in rows)):
            assert type(value)(text) == value, (name, value, text)


def check_svg(figure: ga.Figure) -> None:
    root = xml.fromstring(figure.svg)
    assert root.tag.endswith("svg")
    assert figure._repr_svg_() == figure.svg


def test_trials_are_those_of_the_command(tmp_path: Path) -> None:
    simulation = ga.simulate(KEPT / "experiment.toml")
    check_table(simulation.trials, KEPT / "trials.csv")
    assert simulation.data == json.loads((KEPT / "summary.json").read_text())
    assert simulation.save(tmp_path / "out") == tmp_path / "out"
    for name in ["trials.csv", "summary.json"]:
        assert (tmp_path / "out" / name).read_bytes() == (KEPT / name).read_bytes()
    for name in ["trials.parquet", "coverage.svg", "coverage.png"]:
        assert (tmp_path / "out" / name).stat().st_size > 1000
    assert repr(simulation) == "<Simulation 'small': 32 trials in 8 cells>"
    assert "certified good" in simulation.text


def test_a_dict_is_as_good_as_a_file_on_any_number_of_threads() -> None:
    for threads in [None, 1, 3]:
        check_table(ga.simulate(EXPERIMENT, threads=threads).trials, KEPT / "trials.csv")
    check_table(ga.simulate(str(KEPT / "experiment.toml")).trials, KEPT / "trials.csv")


def test_a_summary_has_the_means_and_standard_errors_of_the_trials() -> None:
    simulation = ga.simulate(EXPERIMENT)
    trials = simulation.trials.to_pylist()
    assert simulation.summary.num_rows == 8
    for cell in simulation.summary.to_pylist():
        keys = ("world", "method", "delta", "budget_as_written", "concurrency")
        own = [trial for trial in trials if all(trial[key] == cell[key] for key in keys)]
        assert len(own) == cell["trials"] == 4
        for name in ["certified_good", "certified_bad", "spent", "pulls"]:
            values = [float(trial[name]) for trial in own]
            error = statistics.stdev(values) / math.sqrt(len(values))
            assert cell[name] == pytest.approx(statistics.fmean(values))
            assert cell[f"{name}_error"] == pytest.approx(error)
        assert cell["certified_right"] is None


def test_a_table_goes_into_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(ga.simulate(EXPERIMENT).trials)
    assert frame.height == 32 and frame["spent"].sum() > 0


def test_figures_are_drawn_shown_and_saved(tmp_path: Path) -> None:
    figure = ga.simulate(EXPERIMENT).figure
    check_svg(figure)
    assert figure.png(400).startswith(b"\x89PNG") and len(figure.png(800)) > len(figure.png(400))
    figure.save(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text() == figure.svg
    figure.save(str(tmp_path / "figure.PNG"), width=400)
    assert (tmp_path / "figure.PNG").read_bytes() == figure.png(400)
    with pytest.raises(ValueError, match="neither .svg nor .png"):
        figure.save(tmp_path / "figure.pdf")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        figure.save(tmp_path / "nowhere" / "figure.svg")
    for width in [0, -5, 10**7, 10**12]:
        with pytest.raises(ga.FigureError.Size):
            figure.png(width)


def test_progress_is_told() -> None:
    told: list[dict[str, Any]] = []
    ga.simulate(EXPERIMENT, progress=told.append)
    assert told[-1] == {"title": "small", "done": 32, "total": 32}
    dones = [state["done"] for state in told]
    assert dones == sorted(dones)


def test_a_progress_function_that_fails_ends_the_work() -> None:
    def fails(state: dict[str, Any]) -> None:
        raise RuntimeError("enough")

    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="enough"):
        ga.simulate(changed(EXPERIMENT, lambda e: e.update(repetitions=500_000)), progress=fails)
    assert time.monotonic() - begin < 30


def interrupted_soon(work: Callable[[], object]) -> ga.LaboratoryInterrupted:
    # A thread of Python's that runs meanwhile: the work does not hold the interpreter.
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as caught:
        work()
    timer.join()
    assert time.monotonic() - begin < 30
    assert isinstance(caught.value, ga.LaboratoryInterrupted)
    return caught.value


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C cannot be sent to this process alone")
def test_ctrl_c_keeps_what_is_done() -> None:
    long = changed(EXPERIMENT, lambda experiment: experiment.update(repetitions=500_000))
    partial = interrupted_soon(lambda: ga.simulate(long)).partial
    assert isinstance(partial, ga.Simulation)
    assert 0 < partial.trials.num_rows < 4_000_000
    check_svg(partial.figure)
    assert f"{partial.trials.num_rows} of 4000000 trials" in repr(partial)


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C cannot be sent to this process alone")
def test_ctrl_c_ends_plans_and_figures(tmp_path: Path) -> None:
    long = changed(PLANNED, lambda plan: plan.update(repetitions=10_000_000))
    assert interrupted_soon(lambda: ga.plan(long)).partial is None
    figures = interrupted_soon(lambda: ga.reproduce("discovery", quick=False, out=tmp_path, threads=1)).partial
    assert figures == {}
    assert (tmp_path / "index.html").exists()


def test_several_threads_may_simulate_at_once() -> None:
    with ThreadPoolExecutor(4) as pool:
        for simulation in pool.map(lambda _: ga.simulate(EXPERIMENT, threads=2), range(8)):
            check_table(simulation.trials, KEPT / "trials.csv")


def test_a_plan_has_the_numbers_of_the_command() -> None:
    expected = json.loads((KEPT / "plan.json").read_text())
    plan = ga.plan(PLAN)
    assert plan.data == expected
    assert ga.plan(PLANNED).data == expected
    assert [plan.answers, plan.good, plan.delta, plan.repetitions] == [100, expected["good"], 0.02, 40]
    assert plan.purchase == expected["purchase"] and plan.implied == expected["implied"]
    for row, step in zip(plan.steps.to_pylist(), expected["steps"], strict=True):
        realistic = step.pop("realistic") or {}
        spread = {f"realistic_{name}": realistic.get(name) for name in ("low", "median", "high")}
        assert row == {**step, **spread}
    assert plan.text.startswith("100 answers, ")
    assert plan.notes == []
    check_svg(plan.figure)


def test_arguments_take_the_place_of_what_a_plan_says() -> None:
    few = changed(PLANNED, lambda plan: plan.update(repetitions=4))
    plan = ga.plan(few, budget=50_000, delta=0.1)
    assert plan.purchase is not None
    assert (plan.purchase["budget"], plan.delta) == (50_000, 0.1)
    assert ga.plan(few, threshold=0.96).good < ga.plan(few).good
    assert ga.plan(changed(few, lambda plan: plan.pop("budget"))).purchase is None


def test_jobs_and_recordings_can_be_planned(tmp_path: Path) -> None:
    ids = [f"q{index}" for index in range(9)]
    answers, recording, job = (tmp_path / name for name in ("answers.jsonl", "recording.jsonl", "job.toml"))
    answers.write_text("".join(json.dumps({"id": id, "answer": id}) + "\n" for id in ids))
    lines: list[dict[str, Any]] = [{"goodarm_recording": 1, "unit": "calls"}]
    for index, id in enumerate(ids):
        good = int(index < 6)
        scores, costs = [good, good, 1, good], ["1", "2", "1", "2"]
        lines.append({"id": id, "verifier": "judge", "scores": scores, "costs": costs})
    recording.write_text("".join(json.dumps(line) + "\n" for line in lines))
    job.write_text(
        'candidates = "answers.jsonl"\nbudget = 300\ndelta = 0.1\nexpect = { good = 1 }\n'
        '[[verifiers]]\nname = "judge"\nkind = "command"\ncommand = ["true"]\n'
        'threshold = 0.5\nprice = 2\nscores = "binary"\n'
    )
    alone = ga.plan(recording)
    assert (alone.answers, alone.good, alone.delta, alone.purchase) == (9, 6, 0.05, None)
    assert ga.plan(recording, threshold=0.2).good == 9
    of_job = ga.plan(job, budget=50)
    assert of_job.good == 9 and of_job.purchase is not None and of_job.purchase["budget"] == 50
    assert ga.plan(job, recording=recording).good == 6
    with pytest.raises(ga.PlanError.Recording, match="no outcomes of a verifier"):
        ga.plan(PLAN, recording=recording)


def test_a_figure_is_reproduced(tmp_path: Path) -> None:
    out = tmp_path / "reproduction"
    told: list[dict[str, Any]] = []
    made = ga.reproduce("allocation", out=out, threads=2, progress=told.append)
    assert list(made) == ["allocation"]
    allocation = made["allocation"]
    assert any("spent the same on every arm" in finding for finding in allocation.findings)
    assert len(allocation.figures) == 1
    check_svg(allocation.figures[0])
    check_table(allocation.trials["allocation"], out / "allocation.csv")
    assert allocation.summary["allocation"].num_rows == len(json.loads((out / "allocation.json").read_text()))
    assert (out / "allocation.svg").read_text() == allocation.figures[0].svg
    page = (out / "index.html").read_text()
    assert "<svg" in page and "Where the budget goes" in page
    assert told[-1]["done"] == told[-1]["total"]
    assert "<svg" in allocation._repr_html_() and repr(allocation).startswith("<Reproduced 'allocation'")


def test_recorded_answers_are_needed_and_replayed(tmp_path: Path) -> None:
    with pytest.raises(ga.ReproduceError.DataNeeded, match='data="POOLS.jsonl"'):
        ga.reproduce("gsm8k")
    with pytest.warns(UserWarning, match="gsm8k, questions-gsm8k and implied-majority: left out"):
        assert list(ga.reproduce("gsm8k", "allocation")) == ["allocation"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(ga.reproduce("gsm8k", data=CAPITALS / "pools.jsonl")) == ["gsm8k"]
    wrong = tmp_path / "pools.jsonl"
    wrong.write_text('{"id": 1}\n')
    with pytest.raises(ga.ReproduceError.Experiment, match="line 1"):
        ga.reproduce("gsm8k", data=wrong)
    with pytest.raises(FileNotFoundError, match="no-such"):
        ga.reproduce("gsm8k", data="no-such.jsonl")


def world(**means: Any) -> Callable[[dict[str, Any]], object]:
    return lambda experiment: experiment.update(worlds=[{"name": "w", "means": means}])


@pytest.mark.parametrize(
    ("change", "variant", "told"),
    [
        (lambda e: e.update(sead=e.pop("seed")), "Text", "did you mean `seed`"),
        (lambda e: e.pop("title"), "Text", "title: this key is missing"),
        (lambda e: e.update(seed="three"), "Text", "seed: expected a whole number"),
        (lambda e: e.update(deltas=[math.nan]), "Text", "not plain data"),
        (lambda e: e.update(title=object()), "Text", "not plain data"),
        (lambda e: e.update(note=e), "Text", "not plain data"),
        (lambda e: e.update(repetitions=0), "Empty", "repetitions"),
        (lambda e: e.update(concurrency=[0]), "Empty", "concurrency"),
        (lambda e: e.update(repetitions=2**63), "TooMany", "trials are more than"),
        (lambda e: e.update(deltas=[1.5]), "Delta", "1.5"),
        (lambda e: e.update(budgets={"absolute": [-1]}), "Budget", "-1"),
        (lambda e: e["methods"][0].update(policy="rbc"), "Trial", "rbc"),
        (lambda e: e["worlds"][0].update(name=5), "Text", r"worlds\[0\].name"),
        (world(pools={"questions": 1, "bills": "mean", "draws": "in-order"}), "World", "recorded answers"),
        (world(random={"arms": 10**15, "good": [0, 1], "price_max": 2}), "World", "pairs"),
        (world(**{"boundary-null": {"arms": 2, "good": 1, "attributes": 0}}), "World", "attribute"),
    ],
)
def test_wrong_experiments_are_refused(change: Callable[[dict[str, Any]], object], variant: str, told: str) -> None:
    with pytest.raises(ga.ExperimentError, match=told) as caught:
        ga.simulate(changed(EXPERIMENT, change))
    assert type(caught.value) is getattr(ga.ExperimentError, variant)


@pytest.mark.parametrize(
    ("change", "variant", "told"),
    [
        (lambda p: p.update(dleta=p.pop("delta")), "Text", "did you mean `delta`"),
        (lambda p: p.update(budget=math.inf), "Text", "not plain data"),
        (lambda p: p.update(budget=-1), "Budget", "-1"),
        (lambda p: p.update(repetitions=0), "Zero", "repetitions"),
        (lambda p: p.update(slack=2), "Slack", "2"),
        (lambda p: p["answers"][0].update(means=[1]), "MeanCount", r"answers\[0\]"),
        (lambda p: p["answers"][0].update(means=[1, 1, 2]), "Mean", "2 is not between"),
        (lambda p: p["answers"][0].update(spread=-1), "Spread", "-1"),
        (lambda p: p["answers"][0].update(count=10**18), "TooMany", "pairs"),
        (lambda p: p["verifiers"][0].update(price=-1), "Price", r"verifiers\[0\]"),
        (lambda p: p["verifiers"][1].update(deviation=0.1), "Deviation", r"verifiers\[1\]"),
        (lambda p: p.update(policy="magic"), "Trial", "magic"),
        (lambda p: p.update(delta=2), "Trial", "delta"),
        (lambda p: p.update(answers=[]), "Trial", "arms"),
    ],
)
def test_wrong_plans_are_refused(change: Callable[[dict[str, Any]], object], variant: str, told: str) -> None:
    with pytest.raises(ga.PlanError, match=told) as caught:
        ga.plan(changed(PLANNED, change))
    assert type(caught.value) is getattr(ga.PlanError, variant)


def test_other_wrong_input_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ga.PlanError.Budget):
        ga.plan(PLANNED, budget=math.nan)
    with pytest.raises(ga.ReproduceError.Unknown, match='did you mean "allocation"'):
        ga.reproduce("alocation")
    for call in (ga.simulate, ga.plan):
        with pytest.raises(FileNotFoundError, match="no-such-file.toml"):
            call("no-such-file.toml")
        with pytest.raises(OSError):
            call(tmp_path)
        with pytest.raises(TypeError, match="a path or a dict"):
            call([1])  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        ga.reproduce(["allocation"])  # type: ignore[arg-type]
    for threads in [0, -1, 10**6]:
        with pytest.raises(ValueError, match="threads"):
            ga.simulate(EXPERIMENT, threads=threads)
    wrong = tmp_path / "wrong.toml"
    wrong.write_text((KEPT / "experiment.toml").read_text().replace("seed", "sead"))
    with pytest.raises(ga.ExperimentError.Text, match=r"wrong.toml: line 2.*did you mean `seed`"):
        ga.simulate(wrong)
    wrong.write_text('candidates = "nowhere.jsonl"\n')
    with pytest.raises(ga.JobError):
        ga.plan(wrong)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        ga.reproduce("allocation", out=tmp_path / "file" / "out")


#: Of the errors behind a class, those variants that have no class: what is inside of them has, or Python has.
SOURCES: dict[str, list[tuple[str, str, set[str]]]] = {
    "ExperimentError": [
        ("goodarm-sim/src/experiment.rs", "ExperimentError", set()),
        ("goodarm-report/src/experiment_file.rs", "ExperimentFileError", {"File", "Experiment"}),
    ],
    "PlanError": [
        ("goodarm-sim/src/plan.rs", "PlanError", set()),
        ("goodarm-report/src/forecast.rs", "ForecastError", {"File", "Job"}),
    ],
    "ReproduceError": [
        ("goodarm-report/src/figures/reproduce.rs", "ReproduceError", {"Figure"}),
        ("goodarm-report/src/figures/run.rs", "FigureError", {"File"}),
    ],
    "FigureError": [("goodarm-plot/src/raster.rs", "PngError", set())],
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_variant_has_its_class(name: str) -> None:
    variants: set[str] = set()
    for path, enum, others in SOURCES[name]:
        text = (REPOSITORY / "crates" / path).read_text()
        body = text.split(f"pub enum {enum} {{")[1].split("\n}")[0]
        variants |= set(re.findall(r"^    ([A-Z]\w+)(?: \{|\(|,)", body, re.MULTILINE)) - others
    base = getattr(errors, name)
    assert issubclass(base, ga.Error)
    assert {key for key in base.__annotations__ if key[0].isupper()} == variants
    assert all(issubclass(getattr(base, variant), base) for variant in variants)


def test_the_programs_of_the_page_run(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs/how-to/laboratory-in-python.md").read_text()
    programs = re.findall(r"^```python file=(\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(programs) == 4
    said = ""
    for name, text in programs:
        (tmp_path / name).write_text(text)
        done = subprocess.run([sys.executable, name], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said += done.stdout
    assert "A budget of 5,000 certifies about" in said
    assert "\nanwers: no such key; did you mean `answers`?\n" in said
    for name in ["plan.png", "allocation.svg", "reproduction/index.html"]:
        assert (tmp_path / name).exists()


def test_the_examples_run() -> None:
    result = doctest.testmod(goodarm._laboratory)
    assert result.failed == 0 and result.attempted > 10
