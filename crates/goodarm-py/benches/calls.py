"""How fast goodarm is from Python: ask and tell, whole runs, and reading a run.

`python crates/goodarm-py/benches/calls.py [--rust NS]`, with the package installed. `--rust` is what one
ask and tell takes in Rust, from `cargo bench -p goodarm-core --bench ask_tell -- rcb` on the same machine;
without it the ratio is left out.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import goodarm as ga

ARMS = 1000
ROUNDS = 3


def session() -> ga.Session:
    judge = ga.Spec("judge", threshold=0.5, price=1, scores="binary")
    return ga.Session(ARMS, 10**9, 0.05, [judge], in_flight_share=1.0)


def scores(count: int) -> list[float]:
    rng = random.Random(0)
    return [float(rng.random() < 0.5) for _ in range(count)]


def one_by_one(count: int = 200_000) -> float:
    """Microseconds for an ask and a tell."""
    s, told = session(), scores(count)
    begin = time.perf_counter()
    for score in told:
        (pull,) = s.ask()
        s.tell(pull, score)
    return (time.perf_counter() - begin) / count * 1e6


def in_batches(count: int = 400_000, size: int = 64) -> float:
    """Microseconds for an ask and a tell, of 64 at once."""
    s, told = session(), scores(size)
    begin = time.perf_counter()
    for _ in range(count // size):
        s.tell_many(s.ask(size), told)
    return (time.perf_counter() - begin) / count * 1e6


def run(verifier: ga.Verifier, budget: int, **keywords: Any) -> tuple[float, ga.Run, Path]:
    """Calls a second of a whole run with a durable journal."""
    folder = Path(tempfile.mkdtemp(dir=keywords.pop("dir", None)))
    rows = [{"id": str(i), "answer": f"answer {i}"} for i in range(ARMS)]
    begin = time.perf_counter()
    done = ga.run(candidates=rows, verifiers=[verifier], budget=budget, delta=0.05, output=folder / "run",
                  stop_when_hopeless=False, progress=False, **keywords)
    seconds = time.perf_counter() - begin
    pace = done.summary["calls_per_second"]
    return pace or done.summary["calls"] / seconds, done, folder


def instant(candidate: dict[str, Any]) -> float:
    return float(random.random() < 0.5)


async def instant_async(candidate: dict[str, Any]) -> float:
    return float(random.random() < 0.5)


def instant_batch(batch: list[dict[str, Any]]) -> list[float]:
    draw = random.random
    return [float(draw() < 0.5) for _ in batch]


def best(measure: Any, *arguments: Any, most: bool) -> float:
    found = [measure(*arguments) for _ in range(ROUNDS)]
    return float(max(found) if most else min(found))


def pace_of(make: Any, budget: int) -> float:
    pace, _, folder = run(make(), budget)
    shutil.rmtree(folder)
    return pace


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rust", type=float, help="ns of one ask and tell in Rust")
    rust = arguments.parse_args().rust
    ratio = (lambda us: f", {1000 * us / rust:.1f} × Rust's {rust:.0f} ns") if rust else (lambda us: "")
    us = best(in_batches, most=False)
    print(f"ask and tell, 64 at once:  {us:.2f} µs{ratio(us)}")
    us = best(one_by_one, most=False)
    print(f"ask and tell, one by one:  {us:.2f} µs{ratio(us)}")
    terms: dict[str, Any] = {"threshold": 0.5, "scores": "binary"}
    forms = [
        ("an instant function", lambda: ga.verifier(instant, concurrency=512, **terms), 300_000),
        ("an instant async one", lambda: ga.verifier(instant_async, concurrency=512, **terms), 200_000),
        ("an instant batched one", lambda: ga.verifier(instant_batch, batch=512, concurrency=4096, **terms), 1_000_000),
    ]
    for name, make, budget in forms:
        print(f"a run with {name}: {best(pace_of, make, budget, most=True):,.0f} calls/s")
    _, done, folder = run(ga.verifier(instant_batch, batch=512, concurrency=4096, **terms), 1_000_000)
    try:
        import polars
    except ImportError:
        print("polars is not installed: a run is not read", file=sys.stderr)
    else:
        begin = time.perf_counter()
        frame = polars.DataFrame(ga.open(done.path).calls)
        print(f"{len(frame):,} calls read into polars: {time.perf_counter() - begin:.2f} s")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
