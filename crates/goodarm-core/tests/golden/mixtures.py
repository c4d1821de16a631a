"""Golden values of the two grid certificates with their continuous parts, in 60 digits.

Needs Python 3 and `pip install mpmath==1.3.0`; run from this directory:

    python3 mixtures.py > mixtures.csv

The formulas are written from their definitions; numbers that a program would hold in double
precision (thresholds, sigma, sums) are taken to be exactly the double nearest to them.
"""

from math import ceil

import mpmath
from mpmath import erfc, exp, log, loggamma, mp, mpf, nstr, sqrt

THRESHOLDS = [0.03, 0.3, 0.5, 0.8, 0.97, 0.99]
COUNTS = [1, 3, 50, 10_000, 1_000_000_000]
ROOM_SHARES = [1e-5, 1e-3, 0.05, 0.4, 1.0]
SIGMAS = [0.01, 1.0, 30.0]
GAPS = [1e-5, 1e-3, 0.05, 0.4, 20.0]
HEADER = """\
# ln of the grid mixtures with uniform weights: mpmath 1.3.0 (PyPI) at 60 digits; written by
# mixtures.py beside this file. sigma 0: binary scores, and sum is their sum; else sub-Gaussian
# scores, and sum is that of (score - threshold).
threshold,sigma,count,sum,log_e"""

mp.dps = 60


def log_sum(terms):
    largest = max(terms)
    return largest + log(sum(exp(term - largest) for term in terms))


def gaps(first, last):
    return [first * (last / first) ** (mpf(k) / 11) for k in range(12)]


def half_normal(scale, sigma, count, excess):
    rho = (sigma / scale) ** 2
    z = excess / sigma / sqrt(count + rho)
    return log(2) + log(rho / (count + rho)) / 2 + z * z / 2 + log(erfc(-z / sqrt(mpf(2))) / 2)


def rates_above(threshold, ones, zeros):
    """ln of the mean of (g/threshold)^ones ((1-g)/(1-threshold))^zeros over rates g above."""
    room, count = 1 - threshold, ones + zeros
    everywhere = exp(
        loggamma(ones + 1) + loggamma(zeros + 1) - loggamma(count + 2)
        - ones * log(threshold) - zeros * log(room)
    )
    # The rates below, by the continued fraction of the incomplete beta function (DLMF 8.17.22).
    a, b = ones + 1, zeros + 1
    upper, lower, fraction, change, k = mpf(1), mpf(0), mpf(1), mpf(0), 0
    while abs(change - 1) > mpf(10) ** -58:
        m = k // 2
        if k == 0:
            step = mpf(1)
        elif k % 2:
            step = -(a + m) * (a + b + m) * threshold / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            step = m * (b - m) * threshold / ((a + 2 * m - 1) * (a + 2 * m))
        lower = 1 / (1 + step * lower)
        upper = 1 + step / upper
        change = upper * lower
        fraction *= change
        k += 1
    below = threshold * room / a * (fraction - 1)
    return log((everywhere - below) / room)


def mixed(share, bets, continuous):
    grid = log_sum(bets) - log(12)
    return log_sum([log(1 - share) + grid, log(share) + continuous])


def binary(threshold, count, ones):
    room = 1 - threshold
    grid = gaps(min(mpf("0.03"), mpf("0.06") * room), mpf("0.99") * room)
    bets = [ones * log(1 + d / threshold) + (count - ones) * log(1 - d / room) for d in grid]
    return mixed(mpf("0.02"), bets, rates_above(threshold, ones, count - ones))


def sub_gaussian(threshold, sigma, count, excess):
    room = 1 - threshold
    noise = min(sigma, mpf(1))
    grid = gaps(min(mpf("0.03") * noise, mpf("0.3") * room), mpf("0.99") * min(room, 4 * noise))
    bets = [(d * excess - d * d * count / 2) / sigma**2 for d in grid]
    return mixed(mpf("0.1"), bets, half_normal(min(room, noise) / 2, sigma, count, excess))


def show(threshold, sigma, count, total, log_e):
    print(f"{threshold!r},{sigma!r},{count},{total!r},{nstr(log_e, 20)}")


def main():
    assert mpmath.__version__ == "1.3.0"
    print(HEADER)
    for threshold in THRESHOLDS:
        for count in COUNTS:
            for share in ROOM_SHARES:
                ones = min(count, ceil((threshold + share * (1 - threshold)) * count))
                show(threshold, 0, count, float(ones), binary(mpf(threshold), count, mpf(ones)))
    for threshold in [0.03, 0.5, 0.97]:
        for sigma in SIGMAS:
            for count in COUNTS:
                for gap in GAPS:
                    total = gap * count
                    exact = sub_gaussian(mpf(threshold), mpf(sigma), count, mpf(total))
                    show(threshold, sigma, count, total, exact)


main()
