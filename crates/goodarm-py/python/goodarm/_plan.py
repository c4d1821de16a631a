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
    work = start_plan(
        path, keys, budget=budget, delta=delta, threshold=threshold, recording=_path(recording)
    )
    try:
        while not work.wait(TICK_SECONDS):
            pass
    except BaseException:
        # No new session; those that are under way are waited for. A second Ctrl-C leaves them behind.
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
