"""The compiled part: sessions, mailboxes, runs and tables."""

import os
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol, final

__all__ = [
    "Figure",
    "Job",
    "Ledger",
    "LiveRun",
    "Mailbox",
    "NativePlan",
    "PlanWork",
    "Pull",
    "Results",
    "Session",
    "Spec",
    "Table",
    "View",
    "__version__",
    "job_keys",
    "main",
    "start_plan",
]

__version__: str

_Amount = float | int | Decimal

class _Policy(Protocol):
    def choose(self, view: View, /) -> tuple[int, int | str] | None: ...

@final
class Spec:
    """A verifier of a session: its threshold, its price and the model of its scores.

    `scores` is `"binary"`, `"bounded"` (0 to 1, the default), `"exact"`, or a mapping such as
    `{"bounded": {"range": [0.3, 1]}}` or `{"sub-gaussian": {"sigma": 0.5}}`.
    """

    def __new__(
        cls, name: str, *, threshold: float, price: _Amount, scores: object = None
    ) -> Spec: ...
    @property
    def name(self) -> str:
        """Its name in reports."""
    @property
    def threshold(self) -> float:
        """The mean score that an arm must reach."""
    @property
    def price(self) -> Decimal:
        """The most that a call may cost."""
    @property
    def scores(self) -> str:
        """The model of its scores."""

@final
class Pull:
    """One call to make."""

    @property
    def call(self) -> int:
        """Its number, counted from 0 in the order of dispatch."""
    @property
    def arm(self) -> int:
        """The answer to check."""
    @property
    def verifier(self) -> str:
        """The verifier to ask."""
    @property
    def verifier_index(self) -> int:
        """The number of that verifier."""
    @property
    def attempt(self) -> int:
        """0 for a first try; k if k tries of this call were void."""
    @property
    def ceiling(self) -> Decimal:
        """The amount reserved for it."""
    @property
    def lent(self) -> float | None:
        """The share of delta that the arm was lent for this call, or None."""
    @property
    def branch(self) -> str:
        """The rule of the policy that chose it."""

@final
class Ledger:
    """The money of a session, in exact decimals."""

    @property
    def budget(self) -> Decimal:
        """The hard limit."""
    @property
    def settled(self) -> Decimal:
        """What is believed to be owed for finished calls."""
    @property
    def possible(self) -> Decimal:
        """The most that may be owed, with calls in flight; the budget bounds it."""
    @property
    def reserved(self) -> Decimal:
        """The ceilings of the calls in flight."""
    @property
    def left(self) -> Decimal:
        """What is left of the budget beyond `possible`."""
    @property
    def overrun(self) -> Decimal:
        """The sum of all bills above their ceilings, less the ceilings."""
    @property
    def overrun_count(self) -> int:
        """The number of bills above their ceilings."""

@final
class Session:
    """Which answer to check with which verifier next, what the scores prove, and what money is left.

    >>> import goodarm as ga
    >>> judge = ga.Spec("judge", threshold=0.5, price=0.02, scores="binary")
    >>> s = ga.Session(arms=3, budget=5, delta=0.05, verifiers=[judge])
    >>> while not s.done:
    ...     for pull in s.ask(8):
    ...         s.tell(pull, 0.0 if pull.arm == 1 else 1.0, cost=0.02)
    >>> sorted(s.certified), s.ledger.settled <= 5
    ([0, 2], True)

    A session may be used from several threads. Each call must be a fresh run of the verifier.

    Args:
        arms: The number of answers.
        budget: The most that may be spent.
        delta: With probability 1 - delta no certificate is wrong.
        verifiers: The verifiers.
        guarantee: `"lent"`, `"holm"`, `"union"`, `"fdr"`, `"paper"` or `"none"`; what suits the policy if not given.
        policy: The name of a policy (`"rcb"` if not given), or an object with a method
            `choose(view)` that returns `(arm, verifier)`, or None to wait for calls in flight; without such
            calls the session is done. It may also have `begin(view)`, `lend(view, arm, verifier)` and
            `on_change(view, what, arm, verifier)`. No policy can make a certificate wrong.
        parameters: Of a named policy: `seed`, `allocation_constant`, `unresolved_only`, `means`,
            `calls_per_pair`.
        in_flight_share: The expected cost of calls in flight, at most, as a share of the unspent budget.
        stop_when_hopeless: Stop when no arm has a realistic chance with the money that is left.
        keep_events: Keep all events, for `events`.
    """

    def __new__(
        cls,
        arms: int,
        budget: _Amount,
        delta: float,
        verifiers: Sequence[Spec],
        *,
        guarantee: str | None = None,
        policy: str | _Policy | None = None,
        parameters: dict[str, Any] | None = None,
        in_flight_share: float | None = None,
        stop_when_hopeless: bool = False,
        keep_events: bool = False,
    ) -> Session: ...
    def ask(self, most: int = 1) -> list[Pull]:
        """At most `most` calls to make now. An empty list means: wait for replies, or it is `done`."""
    def tell(self, pull: Pull | int, score: float, cost: _Amount | None = None) -> None:
        """Records the score of a call and its cost, by default the ceiling."""
    def tell_many(
        self,
        pulls: Sequence[Pull | int],
        scores: Sequence[float],
        costs: Sequence[_Amount] | None = None,
    ) -> None:
        """Records several scores, in order, up to the first that is refused."""
    def fail(self, pull: Pull | int, failure: str, cost: _Amount | None = None) -> None:
        """Records the failure of a call.

        `timed-out`, `crashed`, `unreadable`, `truncated`, `refused`, `lost` and `given-up` count as the
        lowest score, and cost the ceiling by default. `not-connected` and `rate-limited` are void: the
        verifier did nothing, and the session asks for the call again. `below-lowest` and `exhausted` end the
        stream.
        """
    def status(self, arm: int) -> str:
        """`certified`, `undecided` or `rejected`."""
    def raise_budget(self, budget: _Amount) -> None:
        """Raises the budget; allowed at any time."""
    def add_arms(self, count: int = 1) -> None:
        """Adds arms; only if the guarantee is `lent`."""
    def release(self, arm: int) -> None:
        """Revokes the arm's share of delta; its evidence is lost."""
    def replay(self, events: Iterable[Sequence[Any]]) -> None:
        """Applies the recorded events of an earlier session to this new one."""
    @property
    def done(self) -> bool:
        """Whether there is nothing more to do, and no call is in flight."""
    @property
    def stop_reason(self) -> str | None:
        """Why it is done: `all-certified`, `all-decided`, `budget-spent`, `nothing-worthwhile`, `hopeless` or `all-calls-made`."""
    @property
    def certified(self) -> list[int]:
        """The certified arms, in the order of their certificates."""
    @property
    def statuses(self) -> list[str]:
        """The status of every arm: `certified`, `undecided` or `rejected`."""
    @property
    def ledger(self) -> Ledger:
        """The money."""
    @property
    def arms(self) -> int:
        """The number of arms."""
    @property
    def verifiers(self) -> list[str]:
        """The verifiers' names."""
    @property
    def in_flight(self) -> int:
        """The number of calls in flight."""
    @property
    def pool(self) -> float | None:
        """The share of delta that is not lent; None unless the guarantee is `lent`."""
    @property
    def events(self) -> list[tuple[Any, ...]]:
        """All events, as plain tuples; only with `keep_events=True`."""
    @property
    def books(self) -> Table:
        """A row for each arm and verifier: calls, scores, evidence and the level it must reach."""

@final
class View:
    """The session as a policy sees it while it chooses. A verifier is given by its name or its number."""

    @property
    def arms(self) -> int:
        """The number of arms."""
    @property
    def verifiers(self) -> list[str]:
        """The verifiers' names."""
    @property
    def pool(self) -> float | None:
        """The share of delta that is not lent; None unless the guarantee is `lent`."""
    @property
    def left(self) -> Decimal:
        """The budget that is neither spent nor reserved."""
    def active(self) -> list[int]:
        """The arms that still take calls."""
    def status(self, arm: int) -> str:
        """`certified`, `undecided` or `rejected`."""
    def may_call(self, arm: int, verifier: int | str) -> bool:
        """Whether a call of the pair may be asked for now: the pair is open, and the money suffices."""
    def returned(self, arm: int, verifier: int | str) -> int:
        """The number of scores, with counted failures."""
    def dispatched(self, arm: int, verifier: int | str) -> int:
        """The number of calls that were dispatched."""
    def mean(self, arm: int, verifier: int | str) -> float:
        """The mean score; 0 without scores."""
    def evidence(self, arm: int, verifier: int | str) -> float:
        """The evidence so far."""
    def level(self, arm: int, verifier: int | str) -> float:
        """The level that the evidence must reach."""
    def met(self, arm: int, verifier: int | str) -> bool:
        """Whether the evidence reaches its level."""
    def share(self, arm: int) -> float | None:
        """The share of delta that the arm was lent, or None."""
    def threshold(self, verifier: int | str) -> float:
        """The mean score to be reached."""
    def price(self, verifier: int | str) -> Decimal:
        """The most that a call may cost."""

@final
class Table:
    """Named columns. Libraries with Arrow's C stream take it as it is: `polars.DataFrame(table)`,
    `pyarrow.table(table)`.
    """

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
    @property
    def num_rows(self) -> int:
        """The number of rows."""
    def __len__(self) -> int: ...
    def __getitem__(self, name: str, /) -> list[Any]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def row(self, row: int) -> dict[str, Any]:
        """A row as a dict, by its number."""
    def to_pylist(self) -> list[dict[str, Any]]:
        """A list of dicts, one for each row."""
    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`."""
    def to_polars(self) -> Any:
        """A `polars.DataFrame`."""
    def to_arrow(self) -> Any:
        """A `pyarrow.Table`."""
    def to_numpy(self, name: str) -> Any:
        """A column as a `numpy.ndarray`, with NaN for missing numbers."""
    def _repr_html_(self) -> str: ...

@final
class Mailbox:
    """The waiting calls of one verifier."""

    def __new__(cls, timeout: float) -> Mailbox: ...
    def take(
        self, most: int, linger: float = 0.0, wait: float | None = None
    ) -> list[tuple[int, dict[str, Any]]] | None:
        """Waits for calls and takes at most `most` of them, each as its number and its candidate.

        After the first it waits `linger` seconds for more. Returns None when the mailbox is closed, and an
        empty list after `wait` seconds without a call.
        """
    def next(
        self, outcome: tuple[int, float | tuple[Any, ...]] | None
    ) -> tuple[int, dict[str, Any]] | None:
        """Puts back the outcome of one call, if given, waits for the next call and takes it.

        Returns None when the mailbox is closed.
        """
    def put(self, outcomes: Sequence[tuple[int, float | tuple[Any, ...]]]) -> None:
        """Puts back outcomes: the number of each call, and a score or one of the tuples
        `("score", score, cost, reply)`, `("failed", failure, reason, cost, reply)`,
        `("void", reason, retry_after)` and `("lost", reason)`.
        """
    def backlog(self, seconds: float) -> int:
        """The number of calls that have waited for at least `seconds`."""
    def expire(self) -> list[int]:
        """Fails the calls that have taken longer than the timeout; returns their numbers."""
    def close(self) -> None:
        """Closes the mailbox, and wakes all waiting threads."""

@final
class Job:
    """A job, checked and ready to run."""

    def __new__(
        cls,
        keys: str,
        path: Path,
        *,
        candidates: object | None = None,
        mailboxes: dict[str, Mailbox] | None = None,
        output: Path | None = None,
    ) -> Job: ...
    @property
    def output(self) -> Path:
        """The run's folder."""
    @property
    def notes(self) -> list[str]:
        """Remarks about how the candidates were read."""

def job_keys(path: Path) -> str:
    """The keys of a job file, as JSON."""

def main(words: Sequence[str]) -> int:
    """Runs a command line of the tool, whose first word is the name of the program, and returns the exit code."""

@final
class LiveRun:
    """A run in a thread of its own."""

    def __new__(cls, job: Job, mode: str) -> LiveRun: ...
    @property
    def earlier_run_notes(self) -> list[str]:
        """Remarks about an earlier run in the folder."""
    def start(self) -> None:
        """Begins to make calls."""
    def wait(self, seconds: float) -> bool:
        """Waits at most `seconds` for the end; returns True if it has ended."""
    def stop(self) -> None:
        """Makes no new calls, and waits for those in flight; the second time it abandons them."""
    def notices(self) -> list[tuple[str, str]]:
        """The notices since the last call."""
    def progress(self) -> dict[str, Any] | None:
        """The progress; None before the first notice of it."""
    def ending(self) -> tuple[str, bool, str] | None:
        """The end: its name in `summary.json`, whether calls in flight were abandoned, and a text."""

@final
class Results:
    """A run's folder, read from its journal."""

    def __new__(cls, path: Path) -> Results: ...
    @property
    def path(self) -> Path:
        """The folder."""
    def summary(self) -> str:
        """The summary, as JSON."""
    def answers(self, status: str | None = None) -> Table:
        """The answers with a status, or all."""
    def calls(self) -> Table:
        """All finished calls."""
    def audit(self) -> tuple[list[str], list[str], int, list[str]]:
        """What was checked, what is wrong, the number of wrong things, and remarks."""
    def cards(self, by: str, most: int) -> str:
        """The next cards for this person, as JSON."""
    def label(
        self,
        by: str,
        said: list[tuple[str | None, bool | None]],
        terms: tuple[float | None, int | None],
    ) -> int:
        """Records labels for the next cards, or for the named ones; returns how many were recorded."""
    def write_report(self, out: Path | None = None) -> Path:
        """Writes the report, and returns its path."""
    def text(self) -> str:
        """The report as text."""

@final
class Figure:
    """A figure. A notebook shows it; `svg` and `save()` are for elsewhere."""

    @property
    def title(self) -> str:
        """Title."""
    @property
    def caption(self) -> str:
        """Caption."""
    @property
    def svg(self) -> str:
        """A self-contained SVG document."""
    def _repr_svg_(self) -> str: ...
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it into a file whose name ends in `.svg`."""

@final
class PlanWork:
    """A plan while it is made."""

    def wait(self, seconds: float) -> bool:
        """Waits at most `seconds` for the end; returns True if it has ended."""
    def cancel(self) -> None:
        """Begins no new session."""
    def result(self) -> NativePlan:
        """Returns the plan; may be called once."""

@final
class NativePlan:
    """A plan."""

    @property
    def notes(self) -> list[str]: ...
    def json(self) -> str:
        """What `goodarm plan --json` prints."""
    def text(self) -> str: ...
    def steps(self) -> Table: ...
    def figure(self) -> Figure: ...

def start_plan(
    path: Path,
    keys: str | None,
    *,
    budget: float | None = None,
    delta: float | None = None,
    recording: Path | None = None,
) -> PlanWork:
    """Begins a plan: of the plan file or job at `path`, or of a plan file's keys as JSON."""
