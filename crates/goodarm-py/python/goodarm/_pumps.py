"""How calls are made: by threads, or on an event loop. A pump takes calls out of a mailbox and puts
their outcomes back; the run on the other side neither knows nor waits.
"""

from __future__ import annotations

import asyncio
import os
import threading
from time import perf_counter
from typing import Any

from ._native import Mailbox
from ._verifiers import Candidate, Outcome, Verifier, outcome_of, outcomes_of, raised

Call = tuple[int, Candidate]


class ThreadPump:
    """Makes the calls of a function in threads: one at first, more when calls wait."""

    def __init__(self, verifier: Verifier, mailbox: Mailbox) -> None:
        self.verifier = verifier
        self.mailbox = mailbox
        self.threads: list[threading.Thread] = []

    def start(self) -> None:
        self._add_thread()

    def tick(self) -> None:
        self.mailbox.expire()
        waiting = self.mailbox.backlog(BACKLOG_SECONDS)
        if waiting and self.verifier.batch is None:
            for _ in range(min(waiting, self.verifier.workers - len(self.threads))):
                self._add_thread()
        elif waiting > (self.verifier.batch or 0) and len(self.threads) < self.verifier.workers:
            self._add_thread()

    def stop(self, wait: bool) -> None:
        self.mailbox.close()
        if wait:
            for thread in self.threads:
                thread.join(STOP_SECONDS)

    def _add_thread(self) -> None:
        name = f"goodarm-{self.verifier.name}-{len(self.threads)}"
        # A function that hangs must not keep the interpreter from ending.
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _work(self) -> None:
        mailbox, function, batch = self.mailbox, self.verifier.function, self.verifier.batch
        process = os.getpid()
        size, linger = (batch, LINGER_SECONDS) if batch else (1, 0.0)
        while (calls := mailbox.take(size, linger)) is not None:
            begin = perf_counter()
            if batch:
                outcomes = _batch(function, calls)
            else:
                outcomes = [(number, _single(function, candidate)) for number, candidate in calls]
            if os.getpid() != process:
                # The function forked, and its child came back here: the calls are the parent's.
                os._exit(1)
            mailbox.put(outcomes)
            if batch is None and calls:
                # Many quick calls at a time; one that takes its time holds nobody up.
                seconds = (perf_counter() - begin) / len(calls)
                size = max(1, min(CALLS_AT_ONCE, int(CHUNK_SECONDS / max(seconds, 1e-9))))


def _single(function: Any, candidate: Candidate) -> Outcome:
    try:
        return outcome_of(function(candidate))
    except BaseException as error:
        return raised(error)


def _batch(function: Any, calls: list[Call]) -> list[tuple[int, Outcome]]:
    try:
        values = function([candidate for _, candidate in calls])
        outcomes = outcomes_of(values, len(calls))
    except BaseException as error:
        outcomes = [raised(error)] * len(calls)
    return [(number, outcome) for (number, _), outcome in zip(calls, outcomes)]


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
        for group in groups:
            task = self.loop.create_task(self._make(group))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _make(self, calls: list[Call]) -> None:
        function, count = self.verifier.function, len(calls)
        try:
            if self.verifier.batch:
                work = function([candidate for _, candidate in calls])
                outcomes = outcomes_of(await asyncio.wait_for(work, self.verifier.timeout), count)
            else:
                work = function(calls[0][1])
                outcomes = [outcome_of(await asyncio.wait_for(work, self.verifier.timeout))]
        except asyncio.TimeoutError as error:
            outcomes = [("failed", "timed-out", str(error) or "no answer in time", None, None)] * count
        except (SystemExit, KeyboardInterrupt) as error:
            # Raised on, they would end the caller's loop.
            outcomes = [raised(error)] * count
        except asyncio.CancelledError as error:
            # By the function itself, or because the run is left: then nobody waits for it any more.
            outcomes = [raised(error)] * count
        except BaseException as error:
            outcomes = [raised(error)] * count
        self.mailbox.put([(number, outcome) for (number, _), outcome in zip(calls, outcomes)])


class LoopThread:
    """An event loop of our own, for those who have none."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="goodarm-loop", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(STOP_SECONDS)
        if not self.loop.is_running():
            self.loop.close()


#: Calls that have waited for so long want another thread.
BACKLOG_SECONDS = 0.005
#: Calls that a thread takes at once, if they are quick, and for how long it may be at them.
CALLS_AT_ONCE = 64
CHUNK_SECONDS = 0.001
#: How long a batch waits to be full.
LINGER_SECONDS = 0.001
STOP_SECONDS = 5.0
