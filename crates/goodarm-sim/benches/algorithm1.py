"""Algorithm 1 of the paper in plain numpy, as a researcher would write it: the yardstick for speed.

Usage: algorithm1.py ARMS ATTRIBUTES PULLS   prints nanoseconds per pull.
Gaussian scores, thresholds 0.5, costs 1, 2, 4, ...; the state at the start is one score for each pair.
"""

import sys
import time

import numpy as np


def main():
    arms, attributes, pulls = (int(argument) for argument in sys.argv[1:4])
    random = np.random.default_rng(1)
    delta, threshold = 0.02, 0.5
    pairs = arms * attributes
    costs = 2.0 ** np.arange(attributes)
    means = np.full((arms, attributes), 0.7)
    count = np.ones((arms, attributes))
    total = random.normal(means, 1.0)
    lower = np.zeros((arms, attributes))
    active = np.ones(arms, dtype=bool)
    budget, spent, t = 1e15, 0.0, pairs

    begin = time.perf_counter()
    for _ in range(pulls):
        affordable = spent + costs <= budget
        available = active[:, None] & affordable[None, :]
        candidates = np.where(available, count, np.inf)
        flat = int(np.argmin(candidates))
        q, m = divmod(flat, attributes)
        if not candidates.flat[flat] < np.sqrt(t + 1) / pairs:
            radius = np.sqrt(8 * np.log(t + 1) / count)
            mean = total / count
            unresolved = lower < threshold
            feasible = active & (unresolved & affordable).any(axis=1)

            def surrogate(z):
                gap = z - threshold
                with np.errstate(divide="ignore"):
                    h = (2 * costs / gap**2).sum(axis=1)
                return np.where((gap > 0).all(axis=1) & feasible, h, np.inf)

            pessimistic = surrogate(mean - radius).min()
            if np.isfinite(pessimistic):
                q = int(np.flatnonzero(surrogate(mean + radius) <= pessimistic)[0])
                requirement = 2 / ((mean + radius)[q] - threshold) ** 2
                ratio = np.where(unresolved[q] & affordable, count[q] / requirement, np.inf)
                m = int(np.argmin(ratio))
        score = random.normal(means[q, m], 1.0)
        spent += costs[m]
        t += 1
        count[q, m] += 1
        total[q, m] += score
        n = count[q, m]
        bound = total[q, m] / n - np.sqrt(2 / n * np.log(4 * pairs * n * n / delta))
        lower[q, m] = max(lower[q, m], bound)
        if (lower[q] >= threshold).all():
            active[q] = False
    print(f"{(time.perf_counter() - begin) / pulls * 1e9:.0f}")


if __name__ == "__main__":
    main()
