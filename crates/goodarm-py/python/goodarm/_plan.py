"""What a budget will buy: the plans of `goodarm plan`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Union

from . import errors
from ._native import Figure, NativePlan, Table, start_plan
from ._results import _escaped
from ._run import _plain

PathLike = Union[str, "os.PathLike[str]"]


class Plan:
    """What a budget will buy. Made by `goodarm.plan`."""

    def __init__(self, native: NativePlan) -> None:
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

    @cached_property
    def steps(self) -> Table:
        """The cost of 1, 2, … certificates, a row each."""
        return self._native.steps()

    @property
    def notes(self) -> list[str]:
        """Remarks about the input of the plan."""
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


def plan(
    plan: PathLike | Mapping[str, Any],
    *,
    budget: float | None = None,
    delta: float | None = None,
    recording: PathLike | None = None,
) -> Plan:
    """Computes what a budget will buy, before anything is paid.

    Args:
        plan: A plan file or a job; or a dict with the keys of a plan file, which docs/plan.md has.
        budget: The budget, instead of the file's.
        delta: The error probability, instead of the file's.
        recording: A recording of the same verifiers, for the mean scores of the answers.

    Raises:
        PlanError: The plan or the recording is wrong; JobError: the job is.

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
    path, keys = _source(plan)
    work = start_plan(path, keys, budget=budget, delta=delta, recording=_path(recording))
    try:
        while not work.wait(TICK_SECONDS):
            pass
    except BaseException:
        # No new session starts; the running ones are awaited. A second Ctrl-C abandons them.
        work.cancel()
        while not work.wait(TICK_SECONDS):
            pass
        raise
    return Plan(work.result())


def _source(given: Any) -> tuple[Path, str | None]:
    """A file's path, or keys as JSON."""
    if isinstance(given, (str, os.PathLike)):
        return Path(given), None
    if not isinstance(given, Mapping):
        raise TypeError(f"plan: a path or a dict with the keys of the file, not {type(given).__name__}")
    try:
        return Path("(plan)"), json.dumps(dict(given), default=_plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.PlanError.Text(f"the plan is not plain data: {error}") from None


def _path(path: PathLike | None) -> Path | None:
    return None if path is None else Path(path)


TICK_SECONDS = 0.05
