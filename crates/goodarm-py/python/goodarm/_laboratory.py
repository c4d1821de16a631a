"""The laboratory: the experiments, plans and figures of `goodarm simulate`, `plan` and `reproduce`."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, Union

from . import errors
from ._native import (
    Figure,
    LabPlan,
    LabRun,
    LabSection,
    LabWork,
    Table,
    start_plan,
    start_reproduction,
    start_simulation,
)
from ._progress import Progress, display
from ._results import _escaped
from ._run import _plain

PathLike = Union[str, "os.PathLike[str]"]
Wanted = Union[bool, Callable[[dict[str, Any]], object], None]
Made = TypeVar("Made")


class Simulation:
    """An experiment that has been run. Made by `goodarm.simulate`."""

    def __init__(self, native: LabRun) -> None:
        self._native = native

    @property
    def title(self) -> str:
        """What the experiment is."""
        return self._native.title

    @cached_property
    def trials(self) -> Table:
        """A row for each trial; the columns are those of `trials.csv`, described in docs/experiments.md."""
        return self._native.trials()

    @cached_property
    def summary(self) -> Table:
        """A row for each combination of world, method, delta, budget and concurrency: means over its
        trials, and beside each its standard error, as `NAME_error`."""
        return self._native.summary()

    @cached_property
    def data(self) -> list[dict[str, Any]]:
        """What `summary.json` holds: the summary with shares by kind of arm, attribute and branch."""
        data: list[dict[str, Any]] = json.loads(self._native.cells())
        return data

    @property
    def text(self) -> str:
        """The summary as `goodarm simulate` prints it."""
        return self._native.text()

    @cached_property
    def figure(self) -> Figure:
        """Certified good arms over the budget, a panel for each world."""
        return self._native.figure()

    def save(self, folder: PathLike) -> Path:
        """Writes the files of `goodarm simulate` into a folder: trials, summary and figure."""
        self._native.write(Path(folder))
        return Path(folder)

    def __repr__(self) -> str:
        done, total = self._native.trial_counts
        count = f"{total} trials" if done == total else f"{done} of {total} trials"
        return f"<Simulation {self.title!r}: {count} in {self.summary.num_rows} cells>"

    def _repr_html_(self) -> str:
        return f"<div>{self.figure.svg}{self.summary._repr_html_()}</div>"


class Plan:
    """What a budget will buy. Made by `goodarm.plan`."""

    def __init__(self, native: LabPlan) -> None:
        self._native = native

    @cached_property
    def data(self) -> dict[str, Any]:
        """What `goodarm plan --json` prints; docs/plan.md describes it."""
        data: dict[str, Any] = json.loads(self._native.json())
        return data

    @property
    def delta(self) -> float:
        """The error probability."""
        return float(self.data["delta"])

    @property
    def answers(self) -> int:
        """How many answers were described."""
        return int(self.data["answers"])

    @property
    def good(self) -> int:
        """How many of them are good."""
        return int(self.data["good"])

    @property
    def repetitions(self) -> int:
        """How many sessions were simulated."""
        return int(self.data["repetitions"])

    @property
    def purchase(self) -> dict[str, Any] | None:
        """What the budget buys; None without one."""
        purchase: dict[str, Any] | None = self.data["purchase"]
        return purchase

    @property
    def implied(self) -> dict[str, Any] | None:
        """A dear verifier that could be left out, if there is one."""
        implied: dict[str, Any] | None = self.data["implied"]
        return implied

    @cached_property
    def steps(self) -> Table:
        """What so many certificates cost, a row for each number of them."""
        return self._native.steps()

    @property
    def notes(self) -> list[str]:
        """What you should know about what the plan was made of."""
        return self._native.notes

    @property
    def text(self) -> str:
        """The plan as `goodarm plan` prints it."""
        return self._native.text()

    @cached_property
    def figure(self) -> Figure:
        """Certified answers over the budget."""
        return self._native.figure()

    def __repr__(self) -> str:
        bought = ""
        if self.purchase is not None:
            median = self.purchase["realistic"]["median"]
            bought = f", {self.purchase['budget']:g} certifies about {median:g}"
        return f"<Plan: {self.answers} answers, {self.good} of them good{bought}>"

    def _repr_html_(self) -> str:
        return f"<div>{self.figure.svg}<pre>{_escaped(self.text)}</pre></div>"


class Reproduced:
    """A figure of the paper, or one beyond it, with its experiments. Made by `goodarm.reproduce`."""

    def __init__(self, native: LabSection) -> None:
        #: What it is asked for by.
        self.name: str = native.name
        #: What it is.
        self.title: str = native.title
        #: What there is to say of it, a sentence each.
        self.findings: list[str] = native.findings
        #: What is drawn.
        self.figures: list[Figure] = [native.figure()]
        #: Its experiments, by name.
        self.simulations: dict[str, Simulation] = {name: Simulation(run) for name, run in native.runs()}

    @property
    def trials(self) -> dict[str, Table]:
        """The trials of each experiment, by its name."""
        return {name: simulation.trials for name, simulation in self.simulations.items()}

    @property
    def summary(self) -> dict[str, Table]:
        """The summary of each experiment, by its name."""
        return {name: simulation.summary for name, simulation in self.simulations.items()}

    def __repr__(self) -> str:
        return f"<Reproduced {self.name!r}: {self.title}>"

    def _repr_html_(self) -> str:
        findings = "".join(f"<li>{_escaped(finding)}</li>" for finding in self.findings)
        figures = "".join(figure.svg for figure in self.figures)
        return f"<div><h4>{_escaped(self.title)}</h4>{figures}<ul>{findings}</ul></div>"


def simulate(
    experiment: PathLike | Mapping[str, Any],
    *,
    data: PathLike | None = None,
    threads: int | None = None,
    progress: Wanted = None,
) -> Simulation:
    """Runs an experiment: worlds, methods, budgets and deltas, each many times, on all cores.

    Args:
        experiment: An experiment file, or a dict with the same keys; docs/experiments.md has them all.
        data: A file of recorded answers, for worlds that replay them; `.gz` is unpacked.
        threads: All cores if not given. The result does not depend on it.
        progress: True or False for a bar, or a function that is given a dict with `title`, `done` and
            `total` several times a second; a bar in a terminal or notebook if nothing is said.

    Raises:
        ExperimentError: What is wrong with the experiment.
        LaboratoryInterrupted: Ctrl-C; its `partial` has the trials that were done.

    >>> import goodarm as ga
    >>> simulation = ga.simulate({
    ...     "title": "three good arms, one bad one",
    ...     "seed": 7,
    ...     "repetitions": 20,
    ...     "deltas": [0.05],
    ...     "budgets": {"absolute": [100, 400]},
    ...     "worlds": [{
    ...         "name": "small",
    ...         "scores": "binary",
    ...         "means": {"matrix": {
    ...             "prices": [1, 5], "thresholds": [0.5, 0.5],
    ...             "gaps": [[0.4, 0.4], [0.4, 0.4], [0.3, 0.4], [0.4, -0.3]]}},
    ...     }],
    ...     "methods": [{"name": "goodarm", "policy": "rcb"}],
    ... })
    >>> simulation
    <Simulation 'three good arms, one bad one': 40 trials in 2 cells>
    >>> few, many = simulation.summary["certified_good"]
    >>> few < many <= 3
    True
    >>> simulation.figure.svg[:4]
    '<svg'
    """
    path, keys = _source(experiment, "experiment", errors.ExperimentError.Text)
    work = start_simulation(path, keys, data=_path(data), threads=threads)
    return _driven(work, progress, Simulation)


def plan(
    plan: PathLike | Mapping[str, Any],
    *,
    budget: float | None = None,
    delta: float | None = None,
    threshold: float | None = None,
    recording: PathLike | None = None,
) -> Plan:
    """Says what a budget will buy, before anything is paid.

    Args:
        plan: A plan file, a job or a recording; or a dict with the keys of a plan file, which
            docs/plan.md has.
        budget: What might be spent, in place of what the file says.
        delta: The error probability, in place of what the file says.
        threshold: The threshold of every verifier, in place of what the file says.
        recording: A recording of the same verifiers, which has the answers' means.

    Raises:
        PlanError: What is wrong with the plan or the recording; JobError: with the job.
        LaboratoryInterrupted: Ctrl-C.

    >>> import goodarm as ga
    >>> plan = ga.plan({
    ...     "delta": 0.05,
    ...     "verifiers": [
    ...         {"name": "format", "price": 1, "threshold": 0.5, "scores": "exact"},
    ...         {"name": "judge", "price": 20, "threshold": 0.7, "scores": "binary"}],
    ...     "answers": [
    ...         {"count": 30, "means": [1, 0.95]},
    ...         {"count": 10, "means": [1, 0.3]}],
    ... }, budget=5000)
    >>> plan.answers, plan.good
    (40, 30)
    >>> plan.purchase["spent"] <= 5000
    True
    >>> plan.steps.column_names[:4]
    ['certified', 'complexity', 'characteristic', 'asymptotic']
    """
    path, keys = _source(plan, "plan", errors.PlanError.Text)
    work = start_plan(
        path, keys, budget=budget, delta=delta, threshold=threshold, recording=_path(recording)
    )
    return _driven(work, False, Plan)


def reproduce(
    *figures: str,
    quick: bool = True,
    data: PathLike | None = None,
    out: PathLike | None = None,
    threads: int | None = None,
    progress: Wanted = None,
) -> dict[str, Reproduced]:
    """Makes figures of the paper, and those beyond it, with the raw trials; docs/reproduction.md has
    them all.

    Args:
        figures: Their names, such as `"synthetic"` or `"concurrency"`; all if there are none.
        quick: A sixth of the repetitions, at most 100. In full all figures take a long time.
        data: A file of recorded answers, for `"gsm8k"`, which is left out without it.
        out: A folder for the files of `goodarm reproduce`: a page `index.html`, figures, trials and
            summaries, each as soon as it is done.
        threads: All cores if not given. The result does not depend on it.
        progress: As in `simulate`.

    Raises:
        ReproduceError: There is no such figure, or its data are missing or wrong.
        LaboratoryInterrupted: Ctrl-C; its `partial` has the figures that were done.

    >>> import goodarm as ga
    >>> made = ga.reproduce("allocation")
    >>> made["allocation"].title
    "The paper's final budget allocation"
    >>> list(made["allocation"].trials)
    ['allocation']
    >>> made["allocation"].figures[0]._repr_svg_()[:4]
    '<svg'
    """
    if not all(isinstance(figure, str) for figure in figures):
        raise TypeError("figures are named by strings")
    work = start_reproduction(
        list(figures), quick=bool(quick), data=_path(data), out=_path(out), threads=threads
    )
    missing: list[str] = []

    def reproduced(result: tuple[list[LabSection], list[str]]) -> dict[str, Reproduced]:
        missing.extend(result[1])
        return {section.name: Reproduced(section) for section in result[0]}

    made = _driven(work, progress, reproduced)
    for note in missing:
        warnings.warn(note, stacklevel=2)
    return made


def _driven(work: LabWork, progress: Wanted, made: Callable[[Any], Made]) -> Made:
    """Waits for a piece of work; a signal or a function that fails ends it."""
    shown = display(progress)
    try:
        while not work.wait(TICK_SECONDS):
            _look(work, shown)
        _look(work, shown)
    except KeyboardInterrupt:
        _end(work)
        message = "interrupted: `partial` has what was done"
        partial: Any = _partial(work, made)
        raise errors.LaboratoryInterrupted(message, partial) from None
    except BaseException:
        _end(work)
        raise
    finally:
        shown.close()
    return made(work.result())


def _look(work: LabWork, shown: Progress) -> None:
    state = work.progress()
    if state is not None:
        shown.show(dict(zip(("title", "done", "total"), state)))


def _end(work: LabWork) -> None:
    """No new trials; those that are under way are waited for. A second Ctrl-C leaves them behind."""
    work.cancel()
    while not work.wait(TICK_SECONDS):
        pass


def _partial(work: LabWork, made: Callable[[Any], Made]) -> Made | None:
    """What there is of work that was cancelled; a plan has no parts."""
    try:
        return made(work.result())
    except errors.Error:
        return None


def _source(given: Any, name: str, wrong: type[Exception]) -> tuple[Path, str | None]:
    """A file's path, or keys as JSON."""
    if isinstance(given, (str, os.PathLike)):
        return Path(given), None
    if not isinstance(given, Mapping):
        raise TypeError(f"{name}: a path or a dict with the keys of the file, not {type(given).__name__}")
    try:
        return Path(f"({name})"), json.dumps(dict(given), default=_plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise wrong(f"the {name} is not plain data: {error}") from None


def _path(path: PathLike | None) -> Path | None:
    return None if path is None else Path(path)


TICK_SECONDS = 0.05
