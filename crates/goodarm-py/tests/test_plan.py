"""Plans from Python: the numbers and figures of the command, and no others."""

from __future__ import annotations

import copy
import doctest
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as xml
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import goodarm as ga
import goodarm._plan
from goodarm import errors

REPOSITORY = Path(__file__).resolve().parents[3]
# What the command gave; a test of the command keeps this file true.
KEPT = Path(__file__).parent / "plan.json"
PLAN = REPOSITORY / "examples" / "plan.toml"

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
    """A copy of a plan with something else in it."""
    copied = copy.deepcopy(original)
    change(copied)
    return copied


def check_svg(figure: ga.Figure) -> None:
    root = xml.fromstring(figure.svg)
    assert root.tag.endswith("svg")
    assert figure._repr_svg_() == figure.svg


def test_figures_are_drawn_shown_and_saved(tmp_path: Path) -> None:
    figure = ga.plan(PLANNED).figure
    check_svg(figure)
    for name in ["figure.svg", "figure.SVG"]:
        figure.save(tmp_path / name)
        assert (tmp_path / name).read_text() == figure.svg
    for name in ["figure.png", "figure.pdf", "figure"]:
        with pytest.raises(ValueError, match="goodarm writes SVG"):
            figure.save(tmp_path / name)
        assert not (tmp_path / name).exists()
    with pytest.raises(FileNotFoundError, match="nowhere"):
        figure.save(tmp_path / "nowhere" / "figure.svg")


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C cannot be sent to this process alone")
def test_ctrl_c_ends_a_plan() -> None:
    long = changed(PLANNED, lambda plan: plan.update(repetitions=10_000_000))
    # A thread of Python's that runs meanwhile: the work does not hold the interpreter.
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ga.plan(long)
    timer.join()
    assert time.monotonic() - begin < 30


def test_several_threads_may_plan_at_once() -> None:
    expected = json.loads(KEPT.read_text())
    with ThreadPoolExecutor(4) as pool:
        assert all(plan.data == expected for plan in pool.map(lambda _: ga.plan(PLANNED), range(8)))


def test_steps_go_into_polars() -> None:
    polars = pytest.importorskip("polars")
    plan = ga.plan(PLANNED)
    frame = polars.DataFrame(plan.steps)
    assert frame.height == plan.good and frame["realistic_median"].sum() > 0


def test_a_plan_has_the_numbers_of_the_command() -> None:
    expected = json.loads(KEPT.read_text())
    plan = ga.plan(PLAN)
    assert plan.data == expected
    assert ga.plan(PLANNED).data == expected
    assert [plan.answers, plan.good, plan.delta, plan.repetitions] == [100, expected["good"], 0.02, 40]
    assert plan.purchase == expected["purchase"]
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
    assert ga.plan(changed(few, lambda plan: plan.pop("budget"))).purchase is None


def test_jobs_can_be_planned_with_recordings(tmp_path: Path) -> None:
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
    of_job = ga.plan(job, budget=50)
    assert of_job.good == 9 and of_job.purchase is not None and of_job.purchase["budget"] == 50
    assert ga.plan(job, recording=recording).good == 6
    with pytest.raises(ga.PlanError.Recording, match="no outcomes of a verifier"):
        ga.plan(PLAN, recording=recording)


@pytest.mark.parametrize(
    ("change", "variant", "told"),
    [
        (lambda p: p.update(dleta=p.pop("delta")), "Text", "did you mean `delta`"),
        (lambda p: p.update(budget=math.inf), "Text", "not plain data"),
        (lambda p: p.update(budget=-1), "Key", "-1"),
        (lambda p: p.update(repetitions=0), "Key", "repetitions"),
        (lambda p: p.update(slack=2), "Key", "2"),
        (lambda p: p["answers"][0].update(means=[1]), "Key", r"answers\[0\]"),
        (lambda p: p["answers"][0].update(means=[1, 1, 2]), "Key", "2 is not between"),
        (lambda p: p["answers"][0].update(spread=-1), "Key", "-1"),
        (lambda p: p["answers"][0].update(count=10**18), "Key", "pairs"),
        (lambda p: p["verifiers"][0].update(price=-1), "Key", r"verifiers\[0\]"),
        (lambda p: p["verifiers"][1].update(deviation=0.1), "Key", r"verifiers\[1\]"),
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
    with pytest.raises(ga.PlanError.Key):
        ga.plan(PLANNED, budget=math.nan)
    with pytest.raises(FileNotFoundError, match="no-such-file.toml"):
        ga.plan("no-such-file.toml")
    with pytest.raises(TypeError, match="a path or a dict"):
        ga.plan([1])  # type: ignore[arg-type]
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(PLAN.read_text().replace("spread", "spred"))
    with pytest.raises(ga.PlanError.Text, match=r"wrong.toml: line .*did you mean `spread`"):
        ga.plan(wrong)
    wrong.write_text('candidates = "nowhere.jsonl"\n')
    with pytest.raises(ga.JobError):
        ga.plan(wrong)


def test_every_variant_has_its_class() -> None:
    variants: set[str] = set()
    # What is inside of the others has a class, or Python has one.
    for path, enum, others in [
        ("goodarm-sim/src/plan.rs", "PlanError", set()),
        ("goodarm-plan/src/forecast.rs", "ForecastError", {"File", "Job"}),
    ]:
        text = (REPOSITORY / "crates" / path).read_text()
        body = text.split(f"pub enum {enum} {{")[1].split("\n}")[0]
        variants |= set(re.findall(r"^    ([A-Z]\w+)(?: \{|\(|,)", body, re.MULTILINE)) - others
    base = errors.PlanError
    assert issubclass(base, ga.Error)
    assert {key for key in base.__annotations__ if key[0].isupper()} == variants
    assert all(issubclass(getattr(base, variant), base) for variant in variants)


def test_the_programs_of_the_page_run(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs/how-to/plan-in-python.md").read_text()
    programs = re.findall(r"^```python file=(\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(programs) == 2
    said = ""
    for name, text in programs:
        (tmp_path / name).write_text(text)
        done = subprocess.run([sys.executable, name], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said += done.stdout
    assert "A budget of 5,000 certifies about" in said
    assert "\nanwers: no such key; did you mean `answers`?\n" in said
    assert (tmp_path / "plan.svg").exists()


def test_the_examples_run() -> None:
    result = doctest.testmod(goodarm._plan)
    assert result.failed == 0 and result.attempted > 4
