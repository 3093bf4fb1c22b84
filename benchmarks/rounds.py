# SPDX-License-Identifier: Apache-2.0
"""Rounds, each of which times every side of a row once, and which of them count.

A host may move a virtual machine's cores apart for seconds, and then threads that share data wait
for it; or put both on one core, which then does half as much for each. Such rounds are kept by
themselves, for all sides alike, and others are waited for."""
import time

from idle import wait_for_idle

SAMPLE = 0.01  # seconds of one sample, unless once takes longer
ENOUGH = 5     # rounds for a median
# Seconds for a line of memory to go to the other core and back: cores of one chip take 70 to 140 ns,
# of two chips 300 and more, two threads of one core 55 to 60.
ONE_CORE, APART = 65e-9, 200e-9
PATIENCE = 4   # times the seconds of a row, for rounds that count


def timed(side, times, clock, warming=0):
    """Seconds of one of so many repetitions, after others that are not counted: a core that was idle
    is slow at first, and so is memory that others have used since."""
    wait_for_idle()
    if warming:
        side.run(warming)
    if hasattr(side, "seconds"):  # it measures itself
        return side.seconds(times) / times
    begin = clock()
    side.run(times)
    return (clock() - begin) / times


def repetitions(side, clock):
    """How often to run a side for a sample to be long enough, and how often before: for a third of a
    sample, and until arrays that the last-level cache can hold are there, which takes three passes
    and more. What is much longer than a sample needs no warming."""
    times = 1
    while (once := timed(side, times, clock, 1 + times // 3)) * times < SAMPLE / 2:
        times *= 2
    times = max(times, round(SAMPLE / once))
    return times, max(4, times // 3) if once < SAMPLE else int(once < 5 * SAMPLE)


def take_rounds(opened, measured, times, clock, seconds, limits):
    """[(the round trips before and after, {side: its sample}), ...]; no limits, no trips."""
    def round_trip():
        if not limits:
            return 0
        wait_for_idle()
        return limits.round_trip()

    rounds, near, trip = [], 0, round_trip()
    begin = time.perf_counter()
    while (len(rounds) < ENOUGH
           or near < seconds and time.perf_counter() - begin < PATIENCE * seconds):
        started, before, samples = time.perf_counter(), trip, {}
        for name, side in opened.items():
            samples[name] = timed(side, times[name][0], clock, times[name][1])
        for name, function in measured.items():
            wait_for_idle()
            function()  # not counted, as what comes before the others
            samples[name] = function()
        trip = round_trip()
        rounds.append(((before, trip), samples))
        if is_near((before, trip)):
            near += time.perf_counter() - started
    return rounds


def is_near(trips):
    return not any(trips) or ONE_CORE <= min(trips) <= max(trips) <= APART


def counted(rounds):
    """(the rounds that count, those while the cores were apart)"""
    near = [(trips, samples) for trips, samples in rounds if is_near(trips)]
    if len(near) < ENOUGH:  # what there is counts
        return rounds, []
    return near, [(trips, samples) for trips, samples in rounds if max(trips) > APART]


def by_side(rounds):
    return {name: [samples[name] for _, samples in rounds] for name in rounds[0][1]}
