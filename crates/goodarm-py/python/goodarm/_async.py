"""Calls on an event loop. A separate module, because asyncio takes longer to import than the rest of
the package.
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

from ._native import Mailbox
from ._pumps import CALLS_AT_ONCE, LINGER_SECONDS, Call, exit_if_forked
from ._verifiers import Outcome, Verifier, outcome_of, outcomes_of, raised


class AsyncPump:
    """Makes the calls of an async function as tasks on an event loop."""

    def __init__(self, verifier: Verifier, mailbox: Mailbox, loop: asyncio.AbstractEventLoop) -> None:
        self.verifier = verifier
        self.mailbox = mailbox
        self.loop = loop
        self.tasks: set[asyncio.Task[None]] = set()
        name = f"goodarm-{verifier.name}"
        self.thread = threading.Thread(target=self._feed, name=name, daemon=True)

    def start(self) -> None:
        self.thread.start()

    def tick(self) -> None:
        self.mailbox.expire()

    def stop(self, wait: bool) -> None:
        self.mailbox.close()
        if not wait:
            self.loop.call_soon_threadsafe(lambda: [task.cancel() for task in self.tasks])

    def _feed(self) -> None:
        size, linger = (self.verifier.batch, LINGER_SECONDS) if self.verifier.batch else (CALLS_AT_ONCE, 0.0)
        while (calls := self.mailbox.take(size, linger)) is not None:
            self.loop.call_soon_threadsafe(self._begin, calls)

    def _begin(self, calls: list[Call]) -> None:
        groups = [calls] if self.verifier.batch else [[call] for call in calls]
        for group in filter(None, groups):
            task = self.loop.create_task(self._make(group))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _make(self, calls: list[Call]) -> None:
        try:
            outcomes = await asyncio.wait_for(self._outcomes(calls), self.verifier.timeout)
        except asyncio.TimeoutError:
            outcomes = [("failed", "timed-out", "no answer in time", None, None)] * len(calls)
        except BaseException as error:
            # The run has abandoned the calls, and ignores their outcome.
            outcomes = [raised(error)] * len(calls)
        self.mailbox.put([(number, outcome) for (number, _), outcome in zip(calls, outcomes)])

    async def _outcomes(self, calls: list[Call]) -> list[Outcome]:
        """Catches all that the function raises: in a task, `sys.exit` would end the loop."""
        process = os.getpid()
        try:
            if self.verifier.batch:
                values = await self.verifier.function([candidate for _, candidate in calls])
                outcomes = outcomes_of(values, len(calls))
            else:
                outcomes = [outcome_of(await self.verifier.function(calls[0][1]))]
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and is_cancelling(task):
                raise
            outcomes = [("failed", "crashed", "it cancelled itself", None, None)] * len(calls)
        except BaseException as error:
            outcomes = [raised(error)] * len(calls)
        exit_if_forked(process)
        return outcomes


def is_cancelling(task: asyncio.Task[Any]) -> bool:
    """Whether the task was cancelled from outside; unknown in Python 3.10."""
    cancelling = getattr(task, "cancelling", None)
    return cancelling is None or bool(cancelling())


class LoopThread:
    """An event loop for callers without one. There is one for the whole process, so that a client can
    be used in several runs.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, name="goodarm-loop", daemon=True).start()

    def _run(self) -> None:
        while True:
            # A verifier may stop the loop while others need it.
            self.loop.run_forever()


_loop_thread: LoopThread | None = None
_loop_lock = threading.Lock()


def own_loop() -> asyncio.AbstractEventLoop:
    """The event loop of this module; made at first use, and again in a child process."""
    global _loop_thread
    with _loop_lock:
        if _loop_thread is None or _loop_thread.process != os.getpid():
            _loop_thread = LoopThread()
        return _loop_thread.loop
