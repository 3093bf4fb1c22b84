# SPDX-License-Identifier: Apache-2.0
"""Computes the coefficients in src/ops/math: minimax fits by Remez's exchange (needs mpmath)."""
import struct
import sys

import mpmath as m
from mpmath import mpf

m.mp.dps = 50
TINY = mpf("1e-12")


def remez(f, weight, a, b, count, rounds=12):
    """The polynomial of `count` terms with the least |weight (f - p)| on [a, b], and that error."""
    nodes = count + 1
    cosine = lambda share: (a + b) / 2 - (b - a) / 2 * m.cos(m.pi * share)
    points = [cosine((2 * i + mpf(1)) / (2 * nodes)) for i in range(nodes)]
    grid = [cosine(mpf(i) / (24 * nodes)) for i in range(24 * nodes + 1)]
    values, weights = [f(x) for x in grid], [weight(x) for x in grid]
    best = None
    for _ in range(rounds):
        system, right = m.matrix(nodes, nodes), m.matrix(nodes, 1)
        for i, x in enumerate(points):
            for j in range(count):
                system[i, j] = x**j
            system[i, count] = (-1) ** i / weight(x)
            right[i] = f(x)
        solution = m.lu_solve(system, right)
        coefficients = [solution[j] for j in range(count)]
        errors = [w * (v - m.polyval(coefficients[::-1], x)) for x, v, w in zip(grid, values, weights)]
        extremes = []  # the largest error in each run of one sign
        for x, error in zip(grid, errors):
            if extremes and (error >= 0) == (extremes[-1][1] >= 0):
                if abs(error) > abs(extremes[-1][1]):
                    extremes[-1] = (x, error)
            else:
                extremes.append((x, error))
        worst = max(abs(error) for _, error in extremes)
        if best is None or worst < best[1]:
            best = coefficients, worst
        if len(extremes) < nodes or worst < 1.01 * abs(solution[count]):
            break
        while len(extremes) > nodes:
            extremes.pop(0 if abs(extremes[0][1]) < abs(extremes[-1][1]) else -1)
        points = [x for x, _ in extremes]
    return best


def rounded(kind, x):
    return mpf(struct.unpack(kind, struct.pack(kind, float(x)))[0])


def fit(name, kind, f, weight, a, b, count):
    """Rounds the first coefficient, then fits the others to what it leaves, and so on."""
    a, b = mpf(a), mpf(b)
    floored = lambda x: max(abs(weight(x)), mpf("1e-7"))
    done = []
    while len(done) < count:
        power = len(done)
        rest = lambda x: (f(x) - m.polyval(done[::-1] or [0], x)) / (x**power if power else 1)
        share = lambda x: floored(x) * (abs(x) ** power if power else 1)
        # Between signs of x the division is singular, so there the first fit is simply rounded.
        if power and (a < 0 < b or a == 0 and power > 3):
            done += [rounded(kind, c) for c in tail[1:]]
            break
        start = a if a > 0 or power == 0 else b / 10**6
        tail, worst = remez(rest, share, start, b, count - power)
        done.append(rounded(kind, tail[0]))
    grid = [a + (b - a) * i / 2000 for i in range(2001)]
    error = max(abs(weight(x) * (f(x) - m.polyval(done[::-1], x))) for x in grid)
    text = ", ".join(f"{float(c):.9g}" if kind == "f" else repr(float(c)) for c in done)
    print(f"{name} {'float32' if kind == 'f' else 'float64'}: 2^{float(m.log(error, 2)):.1f}\n  {text}", flush=True)


def odd(function, sign=1):
    """g with function(x) = x + x^3 g(x^2), and g's share in the value."""
    ratio = lambda z: function(m.sqrt(z)) / m.sqrt(z)
    return (lambda z: (ratio(max(z, TINY)) - 1) / max(z, TINY)), (lambda z: z / ratio(max(z, TINY)))


half = m.log(2) / 2 * mpf("1.002")
sixteenth = mpf("1.001") / 32
nonzero = lambda x: x if abs(x) > TINY else TINY
exp_tail = lambda r: (m.exp(nonzero(r)) - 1 - nonzero(r)) / nonzero(r) ** 2
exp_share = lambda r: r * r / m.expm1(nonzero(r))
exp2_ratio = lambda r: (2 ** nonzero(r) - 1) / nonzero(r)
log_ratio = lambda f: (m.log1p(f) - f) / f**2 if abs(f) > mpf("1e-15") else f / 3 - mpf(1) / 2
log_low, log_high = ((m.sqrt(x) - 1) * mpf("1.001") for x in (mpf(1) / 2, 2))
log_tail = lambda z: 2 * odd(m.atanh)[0](z)
log_end = ((m.sqrt(2) - 1) / (m.sqrt(2) + 1)) ** 2 * mpf("1.001")
pow_tail = lambda z: (m.atanh(m.sqrt(z)) / m.sqrt(z) - 1 - z / 3) / z**2 if z > mpf("1e-10") else mpf(1) / 5 + z / 7
sin_end = (m.pi / 4 * mpf("1.01")) ** 2
cos_tail = lambda z: (m.cos(m.sqrt(z)) - 1 + z / 2) / z**2 if z > mpf("1e-10") else mpf(1) / 24 - z / 720
erf_ratio = lambda z: m.erf(m.sqrt(max(z, TINY))) / m.sqrt(max(z, TINY))
interval = mpf(7) / 16
tail_from = lambda k: lambda r: m.erfc((k * interval + r) / m.sqrt(2)) / 2

FITS = {
    "exp_of_sixteenths": [("f", exp_tail, exp_share, -half / 16, half / 16, 2)],
    "exp2_of_sixteenths": [("f", exp2_ratio, lambda r: r / mpf(2) ** r, -sixteenth, sixteenth, 3)],
    "exp": [(k, exp_tail, exp_share, -half, half, n) for k, n in (("f", 5), ("d", 11))],
    "exp2": [(k, exp2_ratio, lambda r: r / mpf(2) ** r, "-0.5005", "0.5005", n) for k, n in (("f", 6), ("d", 11))],
    "log": [("f", log_ratio, lambda f: f * f / m.log1p(nonzero(f)), log_low, log_high, 9)]
           + [("d", log_tail, lambda z: z / 2, 0, log_end, 7)],
    "pow": [("d", pow_tail, lambda z: z * z, 0, log_end, 8)],
    "pow_for_float": [("d", lambda z: log_tail(z) / m.log(2), lambda z: z / 2, 0, log_end, 5),
                      ("d", exp2_ratio, lambda r: r / mpf(2) ** r, "-0.5005", "0.5005", 7)],
    "sin": [(k, *odd(m.sin), 0, sin_end, n) for k, n in (("f", 3), ("d", 6))],
    "cos": [(k, cos_tail, lambda z: z * z / m.cos(m.sqrt(z)), 0, sin_end, n) for k, n in (("f", 3), ("d", 6))],
    "atan": [(k, *odd(m.atan), 0, "1.0001", n) for k, n in (("f", 9), ("d", 20))],
    "asin": [(k, *odd(m.asin), 0, "0.2501", n) for k, n in (("f", 6), ("d", 13))],
    "sinh": [(k, *odd(m.sinh), 0, "1.001", n) for k, n in (("f", 4), ("d", 7))],
    "tanh": [(k, *odd(m.tanh), 0, "0.3907", n) for k, n in (("f", 5), ("d", 11))],
    "erf_near": [(k, lambda z: erf_ratio(z) - 1, lambda z: 1 / erf_ratio(z), 0, 1, n) for k, n in (("f", 7), ("d", 12))],
    "erf_far": [(k, lambda x: m.log(m.erfc(x), 2), lambda x: m.log(2) * m.erfc(x), 1, end, n)
                for k, end, n in (("f", "3.95", 7), ("d", 6, 21))],
    "normal_tail": [("f", tail_from(k), lambda r, k=k: 1 / tail_from(k)(r), -interval / 2, interval / 2, 6)
                    for k in range(15)],
}

for name in sys.argv[1:] or FITS:
    for kind, f, weight, a, b, count in FITS[name]:
        fit(name, kind, f, weight, a, b, count)
