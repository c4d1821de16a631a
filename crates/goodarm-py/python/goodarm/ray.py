"""Verifiers on a Ray cluster: calls go to a pool of actors, on any number of nodes.

Decisions, journal and money stay in the process that called `goodarm.run`. Ray never repeats a call:
calls are methods of actors without retries, not tasks. A call whose actor or node dies counts as
lost: paid, and the lowest score.

    import goodarm as ga, goodarm.ray

    judge = ga.ray.verifier(Judge, actors=8, num_gpus=1, batch=64, threshold=0.7, price=0.002)
    run = ga.run(candidates=table, verifiers=[judge], budget=2.50, unit="dollars", delta=0.05)
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic, perf_counter
from typing import Any, overload

try:
    import ray
except ImportError as error:
    raise ImportError('goodarm.ray needs Ray: pip install "goodarm[ray]"') from error

from ._native import Mailbox
from ._pumps import LINGER_SECONDS, STOP_SECONDS, Call, _batch, _single
from ._run import CONCURRENCY_MAX
from ._verifiers import ASYNC_CALLS, Amount, Candidate, Outcome, Verifier, outcome_of, outcomes_of, raised

__all__ = ["RayPump", "RayVerifier", "verifier"]


@overload
def verifier(judge: Callable[..., Any], *, actors: int, **terms: Any) -> RayVerifier: ...
@overload
def verifier(
    judge: None = None, *, actors: int, **terms: Any
) -> Callable[[Callable[..., Any]], RayVerifier]: ...
def verifier(
    judge: Callable[..., Any] | None = None,
    *,
    actors: int,
    batch: int | None = None,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    address: str | None = None,
    name: str | None = None,
    threshold: float | None = None,
    price: Amount | None = None,
    scores: str | Mapping[str, Any] | None = None,
    concurrency: int | None = None,
    timeout: float | None = None,
    rate: float | None = None,
    retries: int | None = None,
    patience: float | None = None,
    **ray_options: Any,
) -> RayVerifier | Callable[[Callable[..., Any]], RayVerifier]:
    """Makes a verifier whose calls are made by Ray actors.

    Args:
        judge: A class with `__call__`, sync or async, constructed once in each actor; or a function.
        actors: How many actors; those that die are replaced.
        batch: The most candidates that `__call__` is given at once, as a list, for as many scores.
            Without it `__call__` is given one candidate.
        args: Positional arguments of the constructor; `kwargs`: its keyword arguments.
        options: Ray's options for the actors, such as `num_gpus`, `resources`, `runtime_env` or
            `max_concurrency`. They may also be given as keywords.
        address: Address of the Ray cluster, if Ray is not initialised yet; as in `ray.init`.
        concurrency: The most calls in flight; enough to keep all actors busy if not given.

    The other arguments are those of `goodarm.verifier`.
    """
    terms: dict[str, Any] = {
        "name": name,
        "threshold": threshold,
        "price": price,
        "scores": scores,
        "batch": batch,
        "concurrency": concurrency,
        "timeout": timeout,
        "rate": rate,
        "retries": retries,
        "patience": patience,
    }
    pool: dict[str, Any] = {
        "actors": actors,
        "args": args,
        "kwargs": kwargs or {},
        "options": {**(options or {}), **ray_options},
        "address": address,
    }
    if judge is not None:
        return RayVerifier(judge, pool, terms)
    return lambda judge: RayVerifier(judge, pool, terms)


class RayVerifier(Verifier):
    """A verifier whose calls are made by Ray actors. Made by `goodarm.ray.verifier`."""

    def __init__(self, judge: Callable[..., Any], pool: Mapping[str, Any], terms: Mapping[str, Any]) -> None:
        super().__init__(judge, **terms)
        self.actors: int = pool["actors"]
        self.address: str | None = pool["address"]
        self.arguments = (tuple(pool["args"]), dict(pool["kwargs"]))
        if self.actors < 1:
            raise ValueError(f"actors: {self.actors} is not at least 1")
        if any(self.arguments) and not inspect.isclass(judge):
            raise ValueError(f"args and kwargs are for the constructor of a class, and {self.name} is not a class")
        host = _AsyncHost if self.is_async else _Host
        # It is awaited in the actors, so this process needs no event loop.
        self.is_async = False
        options = _checked(pool["options"])
        self.max_concurrency: int = options.setdefault("max_concurrency", ASYNC_CALLS if host is _AsyncHost else 1)
        self.remote_class = ray.remote(host).options(**options)
        #: The most calls in a message. An async class is concurrent without larger messages.
        self.chunk_max: int = self.batch or (1 if host is _AsyncHost else CHUNK_MAX)
        if terms["concurrency"] is None:
            self.concurrency = min(self.actors * (self.max_concurrency + 1) * self.chunk_max, CONCURRENCY_MAX)
            self.terms["concurrency"] = self.concurrency

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Constructs the class in this process, without Ray, and calls it once: to try it."""
        return _construct(self.function, *self.arguments)(*arguments, **keywords)

    def pump(self, mailbox: Mailbox, loop: Any) -> RayPump:
        """Takes calls out of the mailbox and has actors make them."""
        return RayPump(self, mailbox)

    def start_actor(self) -> Any:
        """Starts an actor; does not wait until it is ready."""
        args, kwargs = self.arguments
        return self.remote_class.remote(self.function, self.batch, self.timeout, *args, **kwargs)


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    for option in ("max_restarts", "max_task_retries"):
        if options.get(option):
            raise ValueError(f"{option}: Ray would make calls again that may have been made; leave it out")
    # By default Ray fills one node before the next.
    return {"scheduling_strategy": "SPREAD", **options, "max_restarts": 0, "max_task_retries": 0}


def _construct(judge: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return judge(*args, **kwargs) if inspect.isclass(judge) else judge


class _Host:
    """The actor: the user's class, constructed once."""

    def __init__(
        self, judge: Callable[..., Any], batch: int | None, timeout: float, /, *args: Any, **kwargs: Any
    ) -> None:
        self.batch = batch
        self.timeout = timeout
        self.process = os.getpid()
        self.problem: str | None = None
        try:
            self.function = _construct(judge, args, kwargs)
        except BaseException as error:
            # Returned by `ready`: Ray's own message would hide the exception.
            self.problem = f"{type(error).__name__}: {error}"

    def ready(self) -> str | None:
        """Why it cannot be called, or None."""
        return self.problem

    def make(self, calls: list[Call]) -> tuple[list[tuple[int, Outcome]], float]:
        """Makes calls; returns their numbers and outcomes, and the seconds for all."""
        begin = perf_counter()
        if self.batch:
            outcomes = _batch(self.function, calls)
        else:
            outcomes = [(number, _single(self.function, candidate)) for number, candidate in calls]
        if os.getpid() != self.process:
            # This is a child that the function forked: the calls belong to the parent.
            os._exit(1)
        return outcomes, perf_counter() - begin


class _AsyncHost(_Host):
    """The same for a class whose `__call__` is async."""

    async def make(  # type: ignore[override]
        self, calls: list[Call]
    ) -> tuple[list[tuple[int, Outcome]], float]:
        begin = perf_counter()
        candidates = [candidate for _, candidate in calls]
        if self.batch:
            outcomes = await self._answer(candidates, lambda values: outcomes_of(values, len(calls)))
        else:
            answers = [self._answer(candidate, lambda value: [outcome_of(value)]) for candidate in candidates]
            outcomes = [outcome for answer in await asyncio.gather(*answers) for outcome in answer]
        numbers = [number for number, _ in calls]
        # One outcome for the whole batch applies to each call.
        outcomes *= len(numbers) // len(outcomes)
        return list(zip(numbers, outcomes)), perf_counter() - begin

    async def _answer(
        self, argument: Candidate | list[Candidate], read: Callable[[Any], list[Outcome]]
    ) -> list[Outcome]:
        try:
            return read(await asyncio.wait_for(self.function(argument), self.timeout))
        except asyncio.TimeoutError:
            return [("failed", "timed-out", f"no reply within {self.timeout:g} s", None, None)]
        except BaseException as error:
            return [raised(error)]


@dataclass(eq=False)
class _Actor:
    """An actor and its messages."""

    handle: Any
    #: Messages without a reply.
    messages: set[Any] = field(default_factory=set)
    #: It has not replied in time, and gets no more messages.
    is_overdue: bool = False


@dataclass(eq=False)
class _Message:
    """Calls that were sent to an actor together."""

    actor: _Actor
    numbers: list[int]
    since: float


class _Pace:
    """How many calls go into a message, and how many messages to an actor. Large messages make Ray's
    overhead small; small ones keep the wait of each call short and lose little in a crash.
    """

    def __init__(self, verifier: RayVerifier) -> None:
        self.verifier = verifier
        #: The time that a message may take. A large pool gets larger messages, because this process sends
        #: them all.
        self.chunk_seconds = max(CHUNK_SECONDS, verifier.actors * verifier.max_concurrency / MESSAGES_PER_SECOND)
        self.size = 1
        self.has_crashed = False
        #: Seconds of a call and of a message, smoothed; None before the first reply.
        self.call_seconds: float | None = None
        self.message_seconds: float | None = None

    @property
    def messages_max(self) -> int:
        """The most messages of an actor: one more than it processes at once, if messages are short."""
        is_quick = self.message_seconds is not None and self.message_seconds < QUICK_SECONDS
        return self.verifier.max_concurrency + is_quick

    def answered(self, count: int, seconds: float) -> None:
        """Takes the time of a message into account."""
        self.call_seconds = _smoothed(self.call_seconds, seconds / count)
        self.message_seconds = _smoothed(self.message_seconds, seconds)
        grown = self.size + (1 if self.has_crashed else self.size)
        wanted = self.verifier.chunk_max
        if not self.verifier.batch:
            # The size of a batch is the user's choice.
            wanted = min(wanted, int(self.chunk_seconds / max(self.call_seconds, 1e-9)))
        self.size = max(1, min(grown, wanted))

    def crashed(self) -> None:
        """An actor died: smaller messages, so that the next crash loses less."""
        self.size = 1
        self.has_crashed = True


def _smoothed(old: float | None, new: float) -> float:
    return new if old is None else old + SMOOTHING * (new - old)


class RayPump:
    """Takes calls out of a mailbox and sends them to actors, in one thread. Calls stay in the mailbox until
    a living actor has room for them.
    """

    def __init__(self, verifier: RayVerifier, mailbox: Mailbox) -> None:
        if not ray.is_initialized():
            ray.init(address=verifier.address, ignore_reinit_error=True)
        self.verifier = verifier
        self.mailbox = mailbox
        self.pace = _Pace(verifier)
        #: Actors that are being constructed, and messages, by the references of their results.
        self.starting: dict[Any, _Actor] = {}
        self.messages: dict[Any, _Message] = {}
        self.actors: list[_Actor] = []
        self.starts = _Starts()
        self.overdue_look_at = monotonic() + OVERDUE_LOOK_SECONDS
        self.stopping = threading.Event()
        name = f"goodarm-{verifier.name}"
        self.thread = threading.Thread(target=self._feed, name=name, daemon=True)

    def start(self) -> None:
        self.thread.start()

    def tick(self) -> None:
        self.mailbox.expire()

    def stop(self, wait: bool) -> None:
        self.mailbox.close()
        self.stopping.set()
        if wait:
            self.thread.join(STOP_SECONDS)

    def _feed(self) -> None:
        try:
            while not self.stopping.is_set():
                if not ray.is_initialized():
                    # Any call of Ray would initialise it again.
                    raise RuntimeError("it was shut down during the run")
                self._start_missing()
                self._send()
                self._collect()
                self._kill_overdue()
        except Exception as error:
            self._refuse_all(f"Ray failed: {_brief(error)}")
        finally:
            for actor in [*self.starting.values(), *self.actors]:
                _kill(actor)

    def _start_missing(self) -> None:
        missing = self.verifier.actors - len(self.actors) - len(self.starting)
        if missing and self.starts.is_due():
            for _ in range(missing):
                handle = self.verifier.start_actor()
                self.starting[handle.ready.remote()] = _Actor(handle)

    def _send(self) -> None:
        """Sends waiting calls to actors that have room."""
        if not self.actors:
            if self.starts.problem is not None:
                self._refuse(self.starts.problem)
            return
        while actor := self._actor_with_room():
            size = self.pace.size
            # Without messages in flight only the mailbox can wake this thread.
            wait = 0.0 if self.messages else IDLE_SECONDS
            calls = self.mailbox.take(size, LINGER_SECONDS if size > 1 else 0.0, wait)
            if calls is None:
                self.stopping.set()
            if not calls:
                return
            message = _Message(actor, [number for number, _ in calls], monotonic())
            reference = actor.handle.make.remote(calls)
            self.messages[reference] = message
            actor.messages.add(reference)

    def _actor_with_room(self) -> _Actor | None:
        free = (actor for actor in self.actors if not actor.is_overdue)
        actor = min(free, key=lambda actor: len(actor.messages), default=None)
        return actor if actor and len(actor.messages) < self.pace.messages_max else None

    def _collect(self) -> None:
        """Waits for results, or until calls can be sent, and takes the results."""
        references = [*self.starting, *self.messages]
        if not references:
            # All starts have failed, and the next is not due yet.
            if not self.actors:
                self.stopping.wait(IDLE_SECONDS)
            return
        has_room = self._actor_with_room() is not None
        # Without messages in flight, `_send` has waited for the mailbox.
        wait = IDLE_SECONDS if not has_room else POLL_SECONDS if self.messages else 0.0
        ready, _ = ray.wait(references, num_returns=1, timeout=wait)
        if ready and len(references) > 1:
            ready, _ = ray.wait(references, num_returns=len(references), timeout=0)
        for reference in ready:
            if reference in self.starting:
                self._started(reference, self.starting.pop(reference))
            else:
                self._returned(reference, self.messages.pop(reference))

    def _started(self, reference: Any, actor: _Actor) -> None:
        try:
            problem = ray.get(reference)
        except Exception as error:
            problem = _brief(error)
        if problem is None:
            self.actors.append(actor)
            self.starts.worked()
        else:
            # It has no messages, so nothing is lost.
            _kill(actor)
            self.starts.failed(f"no actor of {self.verifier.name} can be started: {problem}")

    def _returned(self, reference: Any, message: _Message) -> None:
        actor = message.actor
        actor.messages.discard(reference)
        try:
            outcomes, seconds = ray.get(reference)
        except Exception as error:
            # The calls may have been made, even if Ray reports that they were not.
            lost = ("lost", _brief(error))
            self.mailbox.put([(number, lost) for number in message.numbers])
            self._drop(actor)
            return
        self.pace.answered(len(outcomes), seconds)
        self.mailbox.put(outcomes)

    def _drop(self, actor: _Actor) -> None:
        if actor in self.actors:
            self.actors.remove(actor)
            self.pace.crashed()
            # It may only be unreachable: kill it, so that it cannot reconnect as an extra actor.
            _kill(actor)

    def _kill_overdue(self) -> None:
        """Replaces actors whose calls have all timed out."""
        now = monotonic()
        if now < self.overdue_look_at:
            return
        self.overdue_look_at = now + OVERDUE_LOOK_SECONDS
        latest = now - self.verifier.timeout - OVERDUE_LOOK_SECONDS
        for actor in list(self.actors):
            overdue = [self.messages[reference].since < latest for reference in actor.messages]
            actor.is_overdue = any(overdue)
            if overdue and all(overdue):
                self._drop(actor)

    def _refuse(self, reason: str) -> None:
        """Returns waiting calls as void: none has begun. The run tries again until its patience ends."""
        while calls := self.mailbox.take(CHUNK_MAX, 0.0, 0.0):
            self.mailbox.put([(number, ("void", reason, None)) for number, _ in calls])

    def _refuse_all(self, reason: str) -> None:
        """Ray has failed: calls in flight are lost, and no others begin."""
        for message in self.messages.values():
            self.mailbox.put([(number, ("lost", reason)) for number in message.numbers])
        while not self.stopping.wait(IDLE_SECONDS):
            self._refuse(reason)


class _Starts:
    """When actors are started: at once, with growing pauses while starts fail."""

    def __init__(self) -> None:
        self.failed_count = 0
        self.backoff = START_BACKOFF_MIN
        self.due_at = 0.0
        self.reason = ""

    def is_due(self) -> bool:
        return monotonic() >= self.due_at

    def worked(self) -> None:
        self.failed_count = 0
        self.backoff = START_BACKOFF_MIN

    def failed(self, reason: str) -> None:
        self.failed_count += 1
        self.reason = reason
        # Actors that were started together fail together, and count once.
        if self.is_due():
            self.due_at = monotonic() + self.backoff
            self.backoff = min(2 * self.backoff, START_BACKOFF_MAX)

    @property
    def problem(self) -> str | None:
        """Why actors cannot be started, if several starts in a row have failed."""
        return self.reason if self.failed_count >= FAILED_STARTS_MAX else None


def _kill(actor: _Actor) -> None:
    if ray.is_initialized():
        try:
            ray.kill(actor.handle, no_restart=True)
        except Exception:
            # It has ended already.
            pass


def _brief(error: Exception) -> str:
    """The class of an error and the beginning of its message: Ray's messages are pages long."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:REASON_MAX]


#: The most calls in a message, the time of a message in a small pool, and the messages that one process
#: can send.
CHUNK_MAX = 64
CHUNK_SECONDS = 0.015
MESSAGES_PER_SECOND = 1000
#: An actor with longer messages needs no second one in its queue: Ray delivers in about a millisecond.
QUICK_SECONDS = 0.5
SMOOTHING = 0.2
#: How long to wait for an event, and for calls while messages are in flight.
IDLE_SECONDS = 0.05
POLL_SECONDS = 0.002
OVERDUE_LOOK_SECONDS = 0.5
#: After this many failed starts in a row, calls are returned.
FAILED_STARTS_MAX = 3
START_BACKOFF_MIN = 0.5
START_BACKOFF_MAX = 30.0
REASON_MAX = 500
