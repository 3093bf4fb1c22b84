# SPDX-License-Identifier: Apache-2.0
"""What on_gpu.py runs its processes with: a limit of time for each and for all, a report, and a log."""
import concurrent.futures
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

MOST_LOGGED = 20_000  # characters of one process
CUT = "cut off"  # the status of what was stopped because the plan's time was over


class Plan:
    """What runs, how it went, and how much time is left."""

    def __init__(self, options):
        self.options = options
        self.build = options.build.resolve()
        self.end = time.monotonic() + 60 * options.minutes
        options.out.mkdir(parents=True, exist_ok=True)
        self._report = open(options.out / "report.txt", "a", encoding="utf-8")
        self._log = open(options.out / "log.txt", "a", encoding="utf-8")
        self._writing = threading.Lock()
        self.failed = []
        self.ran = 0
        self.not_run = 0
        self.nvrtc = False
        self.environment = dict(os.environ)
        self.environment.setdefault("MT_CUDA_LIBRARY", str(self.build / "src/libmtorch_cuda.so"))
        self.environment.setdefault("MT_TEST_DEVICE", "cuda:0")
        self.environment["PYTHONIOENCODING"] = "utf-8"
        self._folder = tempfile.TemporaryDirectory(prefix="mtorch-gpu-", ignore_cleanup_errors=True)
        self.environment.setdefault("MT_CUDA_CACHE", os.path.join(self._folder.name, "kernels"))
        folders = [self._missing_libraries()]
        for pattern in ("nvidia/*/lib", "nvidia/lib"):  # NVRTC and cuBLASLt, as pip installs them
            for place in sys.path:
                folders += glob.glob(os.path.join(place, pattern))
        folders += ["/usr/local/cuda/lib64", self.environment.get("LD_LIBRARY_PATH", "")]
        self.environment["LD_LIBRARY_PATH"] = ":".join(f for f in folders if f)

    def _missing_libraries(self):
        """A folder of those that were packed which the system does not have itself: Python uses its own."""
        folder = os.path.join(self._folder.name, "libraries")
        os.mkdir(folder)
        try:
            known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, encoding="utf-8", errors="replace",
                                   check=False).stdout.split()
        except OSError:
            known = []
        for file in self.build.glob("lib/*"):
            if file.name not in known:
                os.symlink(file, os.path.join(folder, file.name))
        return folder

    def close(self):
        self._report.close()
        self._log.close()
        self._folder.cleanup()

    def left(self):
        return self.end - time.monotonic()

    def say(self, text):
        with self._writing:
            print(text, file=self._report, flush=True)
            try:
                print(text, flush=True)
            except (OSError, UnicodeError):  # the report has it
                pass

    def count(self, ran=0, not_run=0):
        with self._writing:
            self.ran += ran
            self.not_run += not_run

    def process(self, command, limit, more=None, apart=False):
        """(exit status, output, seconds); None for the status of one that took too long, CUT where the plan's time
        was over before. `apart`: what one that succeeds writes to stderr is no output."""
        begin = time.monotonic()
        limit *= self.options.patience
        room = self.left()
        # Files, not pipes: whoever outlives the process would keep a pipe open.
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as warned:
            try:
                started = subprocess.Popen([str(c) for c in command], env={**self.environment, **(more or {})},
                                           stdin=subprocess.DEVNULL, stdout=said,
                                           stderr=warned if apart else subprocess.STDOUT, start_new_session=True)
            except OSError as error:
                return 127, str(error), time.monotonic() - begin
            try:
                status = started.wait(max(1, min(limit, room)))
            except subprocess.TimeoutExpired:
                status = None if limit <= room else CUT
                end(started)
            output = "".join(read(file) for file in ([said] if status == 0 else [said, warned]))
        return status, output, time.monotonic() - begin

    def log(self, name, output):
        half = MOST_LOGGED // 2
        if len(output) > MOST_LOGGED:
            output = f"{output[:half]}\n[...]\n{output[-half:]}"
        with self._writing:
            print(f"======== {name}\n{output}", file=self._log, flush=True)

    def line(self, name, status, output, seconds, note=""):
        if status == CUT:
            self.count(not_run=1)
            word = "no time"
        elif status == 0:
            word = "skipped" if "[  SKIPPED ]" in output else "ok"
            self.count(ran=word == "ok")
        else:
            word = "TIME" if status is None else "FAILED" if status > 0 else f"SIGNAL {-status}"
            self.count(ran=1)
            self.failed.append(name)
            self.log(name, output)
            note = f"{reason(output)} {note}".strip()
        self.say(f"{name:66}{word:10}{seconds:7.1f} s  {note}")

    def each(self, jobs, run, tests=lambda job: 1):
        """run(job) for all of them, several at a time; the tests for which there is no time are counted."""
        def guarded(job):
            if self.left() < 5:
                self.count(not_run=tests(job))
            else:
                run(job)
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(guarded, jobs))


def end(started):
    """The process and all that it started; one that is stuck in the driver is left behind."""
    try:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait(10)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        pass


def read(file):
    file.seek(0)
    return file.read().decode("utf-8", errors="replace")


def reason(output):
    """What says most of why it failed, on one line."""
    for pattern in (r".*(?:illegal|misaligned|launch failure|too many resources|invalid argument|out of memory).*",
                    r".*(?:element \d+|RESULTS|seed \d+):? .*", r".*(?:the CUDA backend|cuda:?\d?:|device cuda).*",
                    r"Failure\n(?:.*\n){1,4}", r".*(?:[Ee]rror|throws|exception).*", r".+"):
        found = re.search(pattern, output)
        if found:
            return " ".join(found.group(0).split())[:160]
    return "(said nothing)"
