"""Calls by threads. A pump takes calls out of a mailbox and puts their outcomes back; the run on the
other side does not depend on how.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from ._native import Mailbox
from ._verifiers import Candidate, Outcome, Verifier, outcome_of, outcomes_of, raised

Call = tuple[int, Candidate]


class ThreadPump:
    """Makes the calls of a function in threads: one at first, more when calls wait."""

    def __init__(self, verifier: Verifier, mailbox: Mailbox) -> None:
        self.verifier = verifier
        self.mailbox = mailbox
        self.threads: set[threading.Thread] = set()
        #: For each thread the number of its current call, or of the first of its batch.
        self.at: dict[threading.Thread, int] = {}
        self.count = 0

    def start(self) -> None:
        self._add_thread()

    def tick(self) -> None:
        late = set(self.mailbox.expire())
        if late:
            # A thread cannot be stopped: another takes its place.
            self.threads -= {thread for thread, number in list(self.at.items()) if number in late}
        waiting = self.mailbox.backlog(BACKLOG_SECONDS)
        wanted = -(-waiting // (self.verifier.batch or 1))
        room = self.verifier.workers - len(self.threads)
        if wanted and self.count - len(self.threads) > HUNG_MAX:
            self._give_up()
        for _ in range(min(wanted, room)):
            self._add_thread()

    def stop(self, wait: bool) -> None:
        self.mailbox.close()
        if wait:
            for thread in self.threads:
                thread.join(STOP_SECONDS)

    def _give_up(self) -> None:
        """Returns the waiting calls as void: none of them has begun. The run pauses the verifier, and
        stops when its patience ends.
        """
        reason = f"more than {HUNG_MAX} threads hang in {self.verifier.name}"
        while calls := self.mailbox.take(CALLS_AT_ONCE, 0.0, 0.0):
            self.mailbox.put([(number, ("void", reason, None)) for number, _ in calls])

    def _add_thread(self) -> None:
        name = f"goodarm-{self.verifier.name}-{self.count}"
        # A function that hangs must not keep the interpreter from ending.
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self.threads.add(thread)
        self.count += 1
        thread.start()

    def _work(self) -> None:
        mailbox, function, batch = self.mailbox, self.verifier.function, self.verifier.batch
        process, me = os.getpid(), threading.current_thread()
        if batch is None:
            call = mailbox.next(None)
            while call is not None:
                self.at[me] = call[0]
                outcome = _single(function, call[1])
                exit_if_forked(process)
                if me not in self.threads:
                    return
                call = mailbox.next((call[0], outcome))
            return
        while (calls := mailbox.take(batch, LINGER_SECONDS)) is not None:
            if not calls:
                continue
            self.at[me] = calls[0][0]
            outcomes = _batch(function, calls)
            exit_if_forked(process)
            mailbox.put(outcomes)
            if me not in self.threads:
                return


def exit_if_forked(process: int) -> None:
    """Ends a child process that the function forked: the calls belong to the parent."""
    if os.getpid() != process:
        os._exit(1)


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


#: A call that has waited for this long gets another thread.
BACKLOG_SECONDS = 0.005
#: The most calls taken at once.
CALLS_AT_ONCE = 64
#: How long a batch waits for more calls.
LINGER_SECONDS = 0.001
STOP_SECONDS = 5.0
#: The most threads that may be lost to calls that hang.
HUNG_MAX = 256
