"""Verifiers: Python functions, and the built-in kinds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Set
from decimal import Decimal
from types import CoroutineType
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from ._native import Mailbox

Amount = float | int | Decimal
Candidate = dict[str, Any]
#: A score, or another value that `Mailbox.put` takes.
Outcome = float | tuple[Any, ...]


class Score(NamedTuple):
    """A score, with the cost and the reply of the call.

    >>> Score(1.0, cost=0.0018, reply="yes")
    Score(score=1.0, cost=0.0018, reply='yes')
    """

    #: The score itself.
    score: float
    #: What the call has cost; the verifier's price if not given.
    cost: Amount | None = None
    #: The text of the reply, for people.
    reply: str | None = None


class Void(Exception):
    """Raised by a verifier that did not begin to work.

    The call is made again. Only for causes that cannot depend on the answer, such as a refused connection
    or a rate limit: raising it for bad answers makes certificates wrong.
    """

    def __init__(self, reason: str = "not connected", *, retry_after: float | None = None) -> None:
        super().__init__(reason)
        #: Seconds to wait before the next try.
        self.retry_after = retry_after


class Verifier:
    """A function that scores a candidate, and the terms on which it is called.

    Made by `goodarm.verifier`; calling it calls the function.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        threshold: float | None = None,
        price: Amount | None = None,
        scores: str | Mapping[str, Any] | None = None,
        batch: int | None = None,
        workers: int | None = None,
        concurrency: int | None = None,
        timeout: float | None = None,
        rate: float | None = None,
        retries: int | None = None,
        patience: float | None = None,
    ) -> None:
        if not callable(function):
            raise TypeError(f"a verifier is a function or has __call__: {function!r}")
        if batch is not None and batch < 1:
            raise ValueError(f"batch: {batch} is not at least 1")
        if workers is not None and workers < 1:
            raise ValueError(f"workers: {workers} is not at least 1")
        self.function = function
        own_name = getattr(function, "__name__", type(function).__name__)
        self.name: str = own_name if name is None else name
        self.batch = batch
        from inspect import iscoroutinefunction  # slow to import, and not needed before

        called = getattr(function, "__call__", None)
        self.is_async = iscoroutinefunction(function) or iscoroutinefunction(called)
        self.workers = workers or (1 if batch else THREADS_MAX)
        self.timeout: float = TIMEOUT if timeout is None else timeout
        own = self.workers * 4 * batch if batch else (ASYNC_CALLS if self.is_async else self.workers)
        self.concurrency: int = own if concurrency is None else concurrency
        terms = {
            "threshold": threshold,
            "scores": scores,
            # The cost that it reports, or else its price.
            "metered": None
            if price is None
            else {"reported": True, "ceiling": float(price), "expected": float(price)},
            "timeout": timeout,
            "concurrency": self.concurrency,
            "rate": rate,
            "retries": retries,
            "patience": patience,
        }
        #: The terms that were declared, as keys of `[[verifiers]]`.
        self.terms = {key: value for key, value in terms.items() if value is not None}

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.function(*arguments, **keywords)

    def __repr__(self) -> str:
        return f"<Verifier {self.name!r}: {self.terms}>"

    def renamed(self, name: str) -> Verifier:
        """The same under another name."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.name = name
        return twin

    def pump(self, mailbox: Mailbox, loop: Any) -> Any:
        """Takes calls out of the mailbox and makes them."""
        if self.is_async:
            from ._async import AsyncPump

            return AsyncPump(self, mailbox, loop)
        from ._pumps import ThreadPump

        return ThreadPump(self, mailbox)


if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class Terms(TypedDict, total=False):
        """The terms of a verifier: see `verifier`."""

        name: str | None
        threshold: float | None
        price: Amount | None
        scores: str | Mapping[str, Any] | None
        batch: int | None
        workers: int | None
        concurrency: int | None
        timeout: float | None
        rate: float | None
        retries: int | None
        patience: float | None


@overload
def verifier(function: Callable[..., Any], **terms: Unpack[Terms]) -> Verifier: ...
@overload
def verifier(function: None = None, **terms: Unpack[Terms]) -> Callable[[Callable[..., Any]], Verifier]: ...
def verifier(
    function: Callable[..., Any] | None = None, **terms: Unpack[Terms]
) -> Verifier | Callable[[Callable[..., Any]], Verifier]:
    """Makes a verifier of a function, sync or async, or of an object with `__call__`.

    It is given a candidate (a dict) and returns a score, or a `Score`. With `batch=64` it is given a
    list of at most 64 candidates and returns as many scores.

    Args:
        name: What reports call it; the function's name if not given.
        threshold: The mean score that an answer must reach.
        price: The most that a call may cost, and its cost if it reports none.
        scores: `"binary"`, `"bounded"` (0 to 1, the default), `"exact"`, or a mapping such as
            `{"bounded": {"range": [0.3, 1]}}` or `{"sub-gaussian": {"sigma": 0.5}}`.
        batch: The most candidates that are given at once.
        workers: Threads that may call it at once, for functions that are not async.
        concurrency: The most calls in flight.
        timeout: Seconds until a call counts as failed; 60 if not given.
        rate: The most calls per second.
        retries: How often a void call is made again before it counts as failed.
        patience: Seconds that it may be down before the run stops.

    >>> @verifier(threshold=0.5, scores="exact")
    ... def short(candidate):
    ...     return len(candidate["answer"]) < 20
    >>> short({"answer": "Paris"})
    True
    """
    if function is not None:
        return Verifier(function, **terms)
    return lambda function: Verifier(function, **terms)


class BuiltIn(dict[str, Any]):
    """A built-in verifier: the keys of one `[[verifiers]]` of a job file."""

    @property
    def name(self) -> str:
        """What reports call it."""
        return str(self["name"])


def _built_in(kind: str, name: str, keys: dict[str, Any]) -> BuiltIn:
    return BuiltIn({"name": name, "kind": kind} | {key: value for key, value in keys.items() if value is not None})


def check(check: str, *, name: str | None = None, **keys: Any) -> BuiltIn:
    """A check of the answer's form, such as `check("final-answer", extract="gsm8k")`.

    >>> check("regex", pattern="^[A-Z]")["check"]
    'regex'
    """
    return _built_in("check", name or check, {"check": check} | keys)


def llm(name: str, **keys: Any) -> BuiltIn:
    """An LLM behind an OpenAI-compatible or Anthropic's endpoint; keys as in a job file."""
    return _built_in("llm", name, keys)


def http(name: str, **keys: Any) -> BuiltIn:
    """An HTTP server that scores; keys as in a job file."""
    return _built_in("http", name, keys)


def command(name: str, command: Iterable[str], **keys: Any) -> BuiltIn:
    """A program that scores; keys as in a job file."""
    return _built_in("command", name, {"command": list(command)} | keys)


def replay(name: str, **keys: Any) -> BuiltIn:
    """Recorded calls; keys as in a job file."""
    return _built_in("replay", name, keys)


def outcome_of(value: Any) -> Outcome:
    """What a verifier's return value counts as."""
    if type(value) is float:
        return value
    if isinstance(value, Score):
        if value.cost is not None and not _is_amount(value.cost):
            return _unreadable(f"cost {value.cost!r} is not a number that is at least 0")
        score = outcome_of(value.score)
        if not isinstance(score, float):
            return score
        reply = None if value.reply is None else shown(value.reply)
        # Turns -0.0 into 0.
        cost = None if value.cost is None else value.cost + 0
        return ("score", score, cost, reply)
    if value is None or isinstance(value, (str, bytes)):
        return _unreadable(shown(f"returned {value!r:.200}, not a score"))
    if isinstance(value, CoroutineType):
        value.close()
        return _unreadable("returned a coroutine: declare the verifier with async def")
    try:
        return float(value)
    except Exception as error:
        return _unreadable(f"returned {type(value).__name__}, not a score: {shown(error)}"[:1000])


def raised(error: BaseException) -> Outcome:
    """What an exception in a verifier counts as."""
    if isinstance(error, Void):
        wait = getattr(error, "retry_after", None)
        is_wait = isinstance(wait, (int, float)) and math.isfinite(wait) and wait >= 0
        return ("void", shown(error), wait if is_wait else None)
    failure = "timed-out" if isinstance(error, TimeoutError) else "crashed"
    reason = f"{type(error).__name__}: {shown(error)}"[:1000]
    try:
        import traceback

        text = shown("".join(traceback.format_exception(error)))
    except Exception:
        text = reason
    return ("failed", failure, reason, None, text[-TRACEBACK_MAX:])


def shown(value: object) -> str:
    """`str(value)`, also if that raises, and without invalid characters."""
    try:
        return str(value).encode("utf-8", "replace").decode()
    except Exception:
        return f"({type(value).__name__} without a text)"


def outcomes_of(values: Any, count: int) -> list[Outcome]:
    """What the return value of a batched verifier counts as, member by member."""
    if isinstance(values, CoroutineType):
        return [outcome_of(values)] * count
    if isinstance(values, (str, bytes, Mapping, Set)):
        return [_unreadable(f"returned {type(values).__name__}, not a list of {count} scores")] * count
    try:
        listed = list(values)
    except TypeError:
        return [_unreadable(f"returned {type(values).__name__}, not a list of {count} scores")] * count
    if len(listed) != count:
        wrong = f"returned {type(values).__name__} of {len(listed)} for {count} candidates"
        return [_unreadable(wrong)] * count
    return [outcome_of(value) for value in listed]


def _unreadable(reason: str) -> Outcome:
    return ("failed", "unreadable", reason, None, None)


def _is_amount(cost: Any) -> bool:
    if isinstance(cost, bool):
        return False
    try:
        return math.isfinite(cost) and 0 <= cost <= 1e15
    except (TypeError, ValueError, ArithmeticError):
        return False


#: The most threads of a verifier without `workers`.
THREADS_MAX = 32
#: The most calls in flight of an async verifier without `concurrency`.
ASYNC_CALLS = 64
#: Seconds until a call counts as failed.
TIMEOUT = 60.0
TRACEBACK_MAX = 8000
