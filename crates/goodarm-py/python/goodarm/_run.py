"""A whole run: the job of `goodarm run`, with Python functions as verifiers."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from . import errors
from ._native import Job, LiveRun, Mailbox, job_keys
from ._progress import Progress, display
from ._results import Run
from ._verifiers import Amount, BuiltIn, Verifier

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

PathLike = Union[str, "os.PathLike[str]"]
Verifiers = Union[Mapping[str, Any], Iterable[Any]]


def run(
    job: PathLike | None = None,
    *,
    candidates: Any = None,
    verifiers: Verifiers = (),
    budget: Amount | None = None,
    unit: str | None = None,
    delta: float | None = None,
    output: PathLike | None = None,
    resume: str | bool = "auto",
    guarantee: str | None = None,
    policy: str | None = None,
    k: int | None = None,
    concurrency: int | None = None,
    calls_max: int | None = None,
    seed: int | None = None,
    id_field: str | None = None,
    format: str | None = None,
    calls: str | None = None,
    certified: str | None = None,
    stop_when_hopeless: bool | None = None,
    progress: bool | Callable[[dict[str, Any]], object] | None = None,
) -> Run:
    """Certifies answers: the job of `goodarm run`, with its journal, its hard budget and its promise.

    Args:
        job: A job file. The other arguments override its keys.
        candidates: The answers: a path, a list of dicts, or a table (pandas, polars, pyarrow, a
            dataset of Hugging Face, any object with Arrow's C stream).
        verifiers: Functions made by `goodarm.verifier`, and `goodarm.check`, `goodarm.llm` and so on;
            for a job file also a dict from the names in it to functions.
        budget: The most that may be spent, in `unit`.
        unit: `"calls"` (the default), `"tokens"`, `"dollars"` or `"seconds"`.
        delta: With probability 1 - delta no certificate is wrong.
        output: The folder for the journal and the results; `run` if not given.
        resume: `"auto"` continues the run in the folder if there is one (a run that ended because a
            verifier never worked is moved aside, and a new one begins); `True` or `"resume"` requires
            a run, `False` or `"new"` requires an unused folder, `"again"` moves an earlier run aside.
        policy: Which rule chooses the calls; `"fixed"` makes a recording of `k` calls of every verifier on every
            answer, and certifies nothing.
        k: The calls of each pair, with `policy="fixed"`.
        progress: True or False for a bar, or a function that is called with a dict several times a second;
            by default a bar in a terminal or notebook.

    Raises:
        JobError: The job is wrong; lists all problems.
        RunError: The run cannot begin or continue.
        NeverScored: A verifier never worked; VerifierDown: it stopped working.
        Interrupted: The run was stopped by Ctrl-C, or waits for people. Ctrl-C waits for calls in flight
            and saves everything. A second Ctrl-C abandons them; they count as lost.

    The other arguments are the keys of a job file.
    """
    keys = _given_keys(
        budget=budget, unit=unit, delta=delta, guarantee=guarantee, policy=policy, calls_per_pair=k,
        concurrency=concurrency, calls_max=calls_max, seed=seed, id_field=id_field, format=format, calls=calls, certified=certified,
        stop_when_hopeless=stop_when_hopeless,
    )
    verifiers = verifiers if isinstance(verifiers, Mapping) else list(verifiers)
    loop = None
    if any(function.is_async for function in _functions(verifiers).values()):
        from ._async import own_loop

        loop = own_loop()
    work = _Work(job, keys, candidates, verifiers, output, resume, progress, loop)
    return work.drive()


async def arun(
    job: PathLike | None = None,
    *,
    candidates: Any = None,
    verifiers: Verifiers = (),
    budget: Amount | None = None,
    unit: str | None = None,
    delta: float | None = None,
    output: PathLike | None = None,
    resume: str | bool = "auto",
    guarantee: str | None = None,
    policy: str | None = None,
    k: int | None = None,
    concurrency: int | None = None,
    calls_max: int | None = None,
    seed: int | None = None,
    id_field: str | None = None,
    format: str | None = None,
    calls: str | None = None,
    certified: str | None = None,
    stop_when_hopeless: bool | None = None,
    progress: bool | Callable[[dict[str, Any]], object] | None = None,
) -> Run:
    """`run` for asynchronous code: async verifiers are called on the caller's event loop.

    If it is cancelled, it makes no new calls, waits for those in flight and saves everything. If it is
    cancelled twice, it abandons them; they count as lost.
    """
    import asyncio

    keys = _given_keys(
        budget=budget, unit=unit, delta=delta, guarantee=guarantee, policy=policy, calls_per_pair=k,
        concurrency=concurrency, calls_max=calls_max, seed=seed, id_field=id_field, format=format, calls=calls, certified=certified,
        stop_when_hopeless=stop_when_hopeless,
    )
    verifiers = verifiers if isinstance(verifiers, Mapping) else list(verifiers)
    loop = asyncio.get_running_loop()
    work = await asyncio.to_thread(_Work, job, keys, candidates, verifiers, output, resume, progress, loop)
    return await work.drive_async()


class _Work:
    """A run from its beginning to its end."""

    def __init__(
        self,
        job: PathLike | None,
        keys: dict[str, Any],
        candidates: Any,
        verifiers: Verifiers,
        output: PathLike | None,
        resume: str | bool,
        progress: bool | Callable[[dict[str, Any]], object] | None,
        loop: AbstractEventLoop | None,
    ) -> None:
        functions = _functions(verifiers)
        path = Path.cwd() / "(job)" if job is None else Path(job)
        whole, lines = _whole_job(job, keys, candidates, verifiers, functions)
        mailboxes = {name: Mailbox(function.timeout) for name, function in functions.items()}
        native = Job(
            json.dumps(whole),
            path,
            candidates=lines,
            mailboxes=mailboxes,
            output=None if job is not None and output is None else Path(output or "run"),
        )
        self.notes: list[str] = native.notes
        self.output = Path(native.output)
        self.live = LiveRun(native, _resume_mode(resume, self.output))
        self.pumps = [function.pump(mailboxes[name], loop) for name, function in functions.items()]
        self.progress: Progress = display(progress)
        self.is_begun = False

    def drive(self) -> Run:
        """Makes calls until the end."""
        interrupts = 0
        try:
            self._begin()
            while True:
                try:
                    while not self.live.wait(TICK_SECONDS):
                        self._tick()
                    break
                except KeyboardInterrupt:
                    interrupts += 1
                    self._interrupt(interrupts)
        except BaseException:
            self._abandon()
            raise
        return self._end()

    async def drive_async(self) -> Run:
        """The same on an event loop."""
        import asyncio

        cancels = 0
        try:
            self._begin()
            while not self.live.wait(0):
                try:
                    await asyncio.sleep(TICK_SECONDS)
                    self._tick()
                except asyncio.CancelledError:
                    cancels += 1
                    self._interrupt(cancels)
        except BaseException:
            # The loop cannot be awaited: calls in flight are abandoned, and count as lost.
            self.live.stop()
            self._abandon()
            raise
        if cancels:
            self._close()
            raise asyncio.CancelledError(f"everything is saved in {self.output}")
        return self._end()

    def _abandon(self) -> None:
        """Stops the run after an error outside of it, such as one in a callback."""
        self.live.stop()
        while not self.live.wait(TICK_SECONDS) and self.is_begun:
            for pump in self.pumps:
                pump.tick()
        self._close_pumps()
        self.progress.close()

    def _begin(self) -> None:
        for text in [*self.notes, *self.live.earlier_run_notes]:
            self.progress.show_message(text)
        for pump in self.pumps:
            pump.start()
        self.is_begun = True
        self.live.start()

    def _tick(self) -> None:
        for pump in self.pumps:
            pump.tick()
        self._show_progress()

    def _show_progress(self) -> None:
        for kind, text in self.live.notices():
            if kind != "certified":
                self.progress.show_message(f"{kind}: {text}")
        state = self.live.progress()
        if state is not None:
            self.progress.show(state)

    def _interrupt(self, count: int) -> None:
        if count == 1:
            self.progress.show_message("stopping: no new calls; waiting for those in flight (again to abandon them)")
        if count <= 2:
            self.live.stop()

    def _close(self) -> None:
        self._close_pumps()
        self._show_progress()
        self.progress.close()

    def _close_pumps(self) -> None:
        """Ends all pumps; does not wait for calls that the run has abandoned."""
        try:
            ending = self.live.ending()
        except errors.Error:
            ending = None
        for pump in self.pumps:
            pump.stop(ending is not None and not ending[1])

    def _end(self) -> Run:
        self._close()
        ending = self.live.ending()
        assert ending is not None, "the run has ended"
        name, _, text = ending
        run = Run(self.output)
        if name in ("stopped", "waits-for-people"):
            saved = f'everything is saved in {self.output}, and resume="auto" continues'
            raise errors.Interrupted(f"{text}; {saved}", run)
        if name == "verifier-down":
            raise errors.VerifierDown(text, run)
        if name in ("never-worked", "mistrusted"):
            raise errors.NeverScored(text, run)
        return run


def _resume_mode(resume: str | bool, output: Path) -> str:
    if isinstance(resume, bool):
        return "resume" if resume else "new"
    if resume == "auto" and _never_worked(output):
        # Its failures do not depend on the answers, but would count against them in a resumed run.
        return "again"
    return resume


def _never_worked(output: Path) -> bool:
    """Whether the run in the folder ended because a verifier did not work."""
    try:
        summary = json.loads((output / "summary.json").read_text())
        return bool(summary["ending"]["name"] == "never-worked")
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _given_keys(**keys: Any) -> dict[str, Any]:
    if not isinstance(keys["policy"], (str, type(None))):
        raise TypeError("policy: give the name of a policy; a policy object is for goodarm.Session")
    return {key: value for key, value in keys.items() if value is not None}


def _functions(verifiers: Verifiers) -> dict[str, Verifier]:
    """The verifiers that are Python functions, by name."""
    if isinstance(verifiers, Mapping):
        named = [(name, _checked(value)) for name, value in verifiers.items()]
        return {name: value.renamed(name) for name, value in named if isinstance(value, Verifier)}
    checked = [_checked(value) for value in verifiers]
    names = [value.name for value in checked]
    for name in names:
        if names.count(name) > 1:
            raise errors.JobError(f'two verifiers are called {name!r}: give one of them another, name="…"')
    return {value.name: value for value in checked if isinstance(value, Verifier)}


def _checked(value: Any) -> Verifier | BuiltIn:
    if isinstance(value, (Verifier, BuiltIn)):
        return value
    if isinstance(value, Mapping):
        return BuiltIn(value)
    if callable(value):
        return Verifier(value)
    raise TypeError(f"a verifier is made by goodarm.verifier, goodarm.check, goodarm.llm and so on: {value!r}")


def _exact(amount: Amount) -> int | float | str:
    """The exact amount, as a job file has it."""
    if isinstance(amount, Decimal):
        return format(amount, "f")
    return amount if isinstance(amount, int) else float(amount)


def _whole_job(
    job: PathLike | None,
    keys: dict[str, Any],
    candidates: Any,
    verifiers: Verifiers,
    functions: dict[str, Verifier],
) -> tuple[dict[str, Any], Any]:
    """All keys of the job, and the candidates if they are in memory."""
    whole: dict[str, Any] = {} if job is None else json.loads(job_keys(Path(job)))
    whole |= {key: _exact(value) if key == "budget" else value for key, value in keys.items()}
    lines = None
    if isinstance(candidates, (str, os.PathLike)):
        whole["candidates"] = str(Path(candidates).absolute() if job else candidates)
    elif candidates is not None:
        whole["candidates"] = "(in memory)"
        lines = candidates if hasattr(candidates, "__arrow_c_stream__") else _json_lines(candidates)
    entries: list[dict[str, Any]] = whole.get("verifiers", [])
    named = verifiers.items() if isinstance(verifiers, Mapping) else [(None, value) for value in verifiers]
    for name, value in named:
        _overlay(entries, _checked(value), name, is_new=job is None)
    whole["verifiers"] = entries
    _declare_concurrency(whole, functions)
    return whole, lines


def _overlay(entries: list[dict[str, Any]], value: Verifier | BuiltIn, name: str | None, is_new: bool) -> None:
    """Replaces the verifier of this name, or appends a new one."""
    name = name or value.name
    place = next((index for index, entry in enumerate(entries) if entry.get("name") == name), None)
    if place is None or is_new:
        place = len(entries)
        entries.append({})
    if isinstance(value, BuiltIn):
        entries[place] = {**value, "name": name}
        return
    # Keeps only the keys that every kind has: a function needs no address and no prompt.
    kept = {key: value for key, value in entries[place].items() if key in TERMS}
    if "metered" in value.terms:
        kept.pop("price", None)
    entries[place] = {**kept, **value.terms, "name": name, "kind": "python"}


def _declare_concurrency(whole: dict[str, Any], functions: dict[str, Verifier]) -> None:
    """By default the sum of the verifiers' concurrency."""
    if "concurrency" not in whole and functions:
        others = len(whole["verifiers"]) - len(functions)
        mine = sum(function.concurrency for function in functions.values())
        whole["concurrency"] = min(mine + 8 * others, CONCURRENCY_MAX)


def _json_lines(candidates: Any) -> str:
    """Dicts, or a data frame without Arrow, as lines of JSON."""
    if hasattr(candidates, "to_dict") and hasattr(candidates, "columns"):
        candidates = candidates.to_dict("records")
    if isinstance(candidates, (Mapping, bytes)) or not isinstance(candidates, Iterable):
        raise TypeError(
            "candidates are a path, a list of dicts, or a table (pandas, polars, pyarrow), "
            f"not {type(candidates).__name__}"
        )
    lines = []
    for row, candidate in enumerate(candidates):
        if not isinstance(candidate, Mapping):
            raise TypeError(f"candidate {row} is {type(candidate).__name__}, not a dict")
        try:
            line = json.dumps(dict(candidate), ensure_ascii=False, default=_plain)
            if "NaN" in line or "Infinity" in line:
                line = json.dumps(_finite(dict(candidate)), ensure_ascii=False, default=_plain)
            lines.append(line.encode().decode())
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"candidate {row} is not plain data: {error}") from None
    return "\n".join(lines)


def _finite(value: Any) -> Any:
    """The value with null for NaN and infinities, which JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(member) for member in value]
    return value


def _plain(value: Any) -> Any:
    """JSON for other values: scalars of numpy, dates, sets."""
    for method in ("item", "isoformat", "tolist"):
        if hasattr(value, method):
            return getattr(value, method)()
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


#: The keys that every verifier has.
TERMS = frozenset(
    ["name", "threshold", "scores", "price", "metered", "timeout", "rate", "concurrency", "retries", "patience"]
)
CONCURRENCY_MAX = 65_536
TICK_SECONDS = 0.02
