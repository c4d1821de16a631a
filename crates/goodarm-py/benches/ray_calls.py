"""Calls per second through `goodarm.run`, journal and all, beside a bare pool of Ray actors.

Head and two nodes on this machine. One verifier answers at once, the other takes 20 ms. The bare pool
has the same actors, messages of the same size and two messages out for each actor, and nothing else.
A ratio is that of two measurements in a row; shown are the best and the middle one of several rounds,
each column by itself. At last the same without Ray: an instant function, and an async one of 20 ms of
which 1,024 may wait at once.

    python crates/goodarm-py/benches/ray_calls.py [rounds] [actors]
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import ray
from ray.cluster_utils import Cluster

import goodarm as ga
import goodarm.ray

SECONDS = 6.0
#: Settled before the clock starts: the pool is busy by then.
CALLS_BEFORE = {"instant": 5_000, "20 ms": 100, "async": 5_000}
CHUNK = {"instant": goodarm.ray.CHUNK_MAX, "20 ms": 1, "one by one": 1}
#: Enough to keep the pool full; what is out when the time is up is waited for.
CONCURRENCY = {"instant": 4096, "20 ms": 128, "async": 1024}
CANDIDATES = [{"id": f"a{i}", "question": "What is 17 * 23?", "answer": f"It is {i}."} for i in range(1000)]


class Judge:
    """As often right as its threshold, so that a run goes on."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, candidate: dict[str, Any]) -> float:
        if self.seconds:
            time.sleep(self.seconds)
        return float(random.random() < 0.7)

    def make(self, candidates: list[dict[str, Any]]) -> list[float]:
        return [self(candidate) for candidate in candidates]


def bare(kind: str, seconds: float, actors: int) -> float:
    """Calls per second of a pool that is only kept full."""
    remote: Any = ray.remote(Judge).options(num_cpus=1, scheduling_strategy="SPREAD", max_task_retries=0)
    pool = [remote.remote(seconds) for _ in range(actors)]
    size = CHUNK[kind]
    ray.get([actor.make.remote(CANDIDATES[:size]) for actor in pool])
    out = {actor.make.remote(CANDIDATES[:size]): actor for actor in pool * 2}
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < SECONDS:
        ready, _ = ray.wait(list(out), num_returns=1)
        ready, _ = ray.wait(list(out), num_returns=len(out), timeout=0)
        for reference in ready:
            count += len(ray.get(reference))
            actor = out.pop(reference)
            first = random.randrange(len(CANDIDATES) - size)
            out[actor.make.remote(CANDIDATES[first : first + size])] = actor
    pace = count / (time.perf_counter() - begin)
    for actor in pool:
        ray.kill(actor)
    return pace


class Watch:
    """Takes the time from when the pool is busy, and ends the run as Ctrl-C would."""

    def __init__(self, calls_before: int) -> None:
        self.calls_before = calls_before
        self.first: tuple[float, int] | None = None
        self.last = (0.0, 0)
        self.is_over = False

    def __call__(self, state: dict[str, Any]) -> None:
        now = time.perf_counter()
        if self.is_over or state["calls"] < self.calls_before:
            return
        self.first = self.first or (now, state["calls"])
        self.last = (now, state["calls"])
        if now - self.first[0] >= SECONDS:
            self.is_over = True
            raise KeyboardInterrupt

    @property
    def pace(self) -> float:
        assert self.first is not None
        return (self.last[1] - self.first[1]) / (self.last[0] - self.first[0])


def on_ray(kind: str, seconds: float, actors: int) -> ga.Verifier:
    judge: ga.Verifier = ga.ray.verifier(Judge, actors=actors, args=(seconds,), num_cpus=1, **terms(kind))
    return judge


def terms(kind: str) -> dict[str, Any]:
    return {"name": "judge", "threshold": 0.7, "scores": "binary", "concurrency": CONCURRENCY[kind]}


async def waiting(candidate: dict[str, Any]) -> float:
    """An async function, as one that waits for a server: many at once need no cluster."""
    await asyncio.sleep(0.02)
    return float(random.random() < 0.7)


def through_goodarm(kind: str, judge: ga.Verifier) -> tuple[float, float]:
    """Calls per second of a run, and bytes of its journal for each call."""
    watch = Watch(CALLS_BEFORE[kind])
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run"
        try:
            # At most 2 % of the money left is in flight: there is enough of it.
            run = ga.run(
                candidates=CANDIDATES, verifiers=[judge], budget=50_000_000, delta=0.05, output=output,
                concurrency=CONCURRENCY[kind], progress=watch,
            )
        except ga.Interrupted as interrupted:
            run = interrupted.run
        bytes_per_call = (output / "journal").stat().st_size / run.summary["calls"]
    return watch.pace, bytes_per_call


def measure(kind: str, seconds: float, rounds: int, actors: int) -> None:
    rows = []
    for _ in range(rounds):
        pool = bare(kind, seconds, actors)
        pace, size = through_goodarm(kind, on_ray(kind, seconds, actors))
        rows.append((pool, pace, pace / pool, size))
    for name, choose in (("best", max), ("middle", statistics.median)):
        pool, pace, ratio, size = (choose(column) for column in zip(*rows))
        print(
            f"{kind:>8} {name:>7}: bare pool {pool:>8,.0f} calls/s, goodarm {pace:>8,.0f} calls/s, "
            f"ratio {ratio:.2f}, journal {size:.0f} bytes/call",
            flush=True,
        )


def main() -> None:
    given = [int(text) for text in sys.argv[1:3]]
    rounds, actors = given + [3, 4][len(given) :]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(2):
        cluster.add_node(num_cpus=(actors + 1) // 2)
    ray.init(address=cluster.address, log_to_driver=False)
    print(f"head and two nodes, {actors} actors, {rounds} rounds of {SECONDS:g} s")
    for kind, seconds in (("instant", 0.0), ("20 ms", 0.02)):
        measure(kind, seconds, rounds, actors)
    pace = max(bare("one by one", 0.0, actors) for _ in range(rounds))
    print(f" instant    best: bare pool, one call a message {pace:,.0f} calls/s")
    ray.shutdown()
    cluster.shutdown()
    alone = {"instant": ga.verifier(Judge(0.0), **terms("instant")), "async": ga.verifier(waiting, **terms("async"))}
    for kind, judge in alone.items():
        paces = [through_goodarm(kind, judge) for _ in range(rounds)]
        pace, size = max(paces)
        print(f"{kind:>8}    best: in this process, without Ray {pace:>8,.0f} calls/s, journal {size:.0f} bytes/call")


if __name__ == "__main__":
    main()
