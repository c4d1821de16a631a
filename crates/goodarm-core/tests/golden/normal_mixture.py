"""Golden values of the one-sided normal mixture, by the authors of [HRMS21].

Needs Python 3 and `pip install confseq==0.0.11`; run from this directory:

    python3 normal_mixture.py > normal_mixture.csv

confseq takes (v_opt, alpha_opt) where we take rho. Its one-sided mixture has
rho = v_opt / (2 L + log(1 + 2 L)), L = log(1 / (2 alpha_opt)); at s = 0 the mixture is
sqrt(rho / (v + rho)), from which `rho_of` is checked. confseq takes the log of Phi, which
underflows below -38 standard deviations, so no row goes further down than -35.
"""

from importlib.metadata import version
from math import exp, isclose, isfinite, log, sqrt

from confseq.boundaries import normal_log_mixture

TUNINGS = [(0.01, 0.05), (1.0, 0.05), (100.0, 0.01), (1e4, 0.02), (1e7, 0.001)]
VARIANCES = [1, 2, 10, 100, 10_000, 1_000_000, 1_000_000_000]
HEADER = """\
# ln of the one-sided normal mixture: confseq 0.0.11 (PyPI), boundaries.normal_log_mixture with
# is_one_sided=True; written by normal_mixture.py beside this file.
# s: sum of (score - threshold); v: their number; rho: 1 / (gap scale)^2, sigma being 1.
s,v,rho,log_e"""
STANDARDISED = [-35.0, -10.0, -5.01, -5.0, -4.99, -1.0, -0.01, 0.0, 0.01, 1.0, 5.0, 40.0]


def rho_of(v_opt, alpha_opt):
    odds = 2 * log(1 / (2 * alpha_opt))
    rho = v_opt / (odds + log(1 + odds))
    ratio = exp(2 * float(normal_log_mixture(0.0, rho, v_opt, alpha_opt, True)))
    assert isclose(rho * ratio / (1 - ratio), rho, rel_tol=1e-12)
    return rho


def sums(v, rho):
    """From far below to far above, and the sum of v scores with a gap of a half."""
    near = [float(f"{z * sqrt(v + rho):.6g}") for z in STANDARDISED]
    return near + [0.5 * v]


def main():
    assert version("confseq") == "0.0.11"
    print(HEADER)
    for v_opt, alpha_opt in TUNINGS:
        rho = rho_of(v_opt, alpha_opt)
        for v in VARIANCES:
            for s in sums(v, rho):
                log_e = float(normal_log_mixture(s, float(v), v_opt, alpha_opt, True))
                assert isfinite(log_e)
                print(f"{s!r},{v},{rho!r},{log_e!r}")


main()
