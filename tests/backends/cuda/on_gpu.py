# SPDX-License-Identifier: Apache-2.0
"""All that there is to run on a GPU, in the order of what it tells, within a time that is given.

  on_gpu.py pack BUILD FILE.tar.gz   what has been built, with the libraries that it needs, for a
                                     machine that has a GPU but neither a network nor packages
  on_gpu.py run [--build BUILD]      there: tests, then benchmarks, then compute-sanitizer

Every test of a kernel is a process by itself: what one does to its context is not the next one's. One that
fails is run again with each kernel waited for, without graphs and generated kernels, which says where to look.
OUT/report.txt is the table; OUT/log.txt has the output of what failed."""
import argparse
import concurrent.futures
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
TESTS = "tests/backends/cuda"
PROGRAMS = ["cuda_device_test", "cuda_test", "generated_test", "kernel_test"]
CAREFUL = {"CUDA_LAUNCH_BLOCKING": "1", "MT_CUDA_GRAPHS": "0", "MT_CUDA_GENERATE": "0"}
PHASES = ["smoke", "suites", "benchmarks", "sanitizer"]
SHARDS = 16
MOST_LOGGED = 20_000  # characters of one process


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
        self.not_run = 0
        self.environment = dict(os.environ)
        self.environment.setdefault("MT_CUDA_LIBRARY", str(self.build / "src/libmtorch_cuda.so"))
        self.environment.setdefault("MT_TEST_DEVICE", "cuda:0")
        self.environment.setdefault("MT_CUDA_CACHE", tempfile.mkdtemp(prefix="mtorch-kernels-"))
        folders = [self._missing_libraries()]
        for pattern in ("nvidia/*/lib", "nvidia/lib"):  # NVRTC and cuBLASLt, as pip installs them
            for place in sys.path:
                folders += glob.glob(os.path.join(place, pattern))
        folders += ["/usr/local/cuda/lib64", self.environment.get("LD_LIBRARY_PATH", "")]
        self.environment["LD_LIBRARY_PATH"] = ":".join(f for f in folders if f)

    def _missing_libraries(self):
        """A folder of those that were packed which the system does not have itself: Python uses its own."""
        folder = tempfile.mkdtemp(prefix="mtorch-libraries-")
        known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout.split()
        for file in self.build.glob("lib/*"):
            if file.name not in known:
                os.symlink(file, os.path.join(folder, file.name))
        return folder

    def left(self):
        return self.end - time.monotonic()

    def say(self, text):
        with self._writing:
            print(text, flush=True)
            print(text, file=self._report, flush=True)

    def process(self, command, limit, more=None):
        """(exit status, output, seconds); None for the status of one that took too long."""
        begin = time.monotonic()
        try:
            done = subprocess.run([str(c) for c in command], env={**self.environment, **(more or {})},
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=max(1, min(limit, self.left())), check=False)
            return done.returncode, done.stdout, time.monotonic() - begin
        except subprocess.TimeoutExpired as late:
            said = late.stdout or ""
            said = said if isinstance(said, str) else said.decode(errors="replace")
            return None, said, time.monotonic() - begin

    def log(self, name, output):
        half = MOST_LOGGED // 2
        if len(output) > MOST_LOGGED:
            output = f"{output[:half]}\n[...]\n{output[-half:]}"
        with self._writing:
            print(f"======== {name}\n{output}", file=self._log, flush=True)

    def line(self, name, status, output, seconds, note=""):
        if status == 0:
            word = "skipped" if "[  SKIPPED ]" in output else "ok"
        else:
            word = "TIME" if status is None else "FAILED" if status > 0 else f"SIGNAL {-status}"
        if status != 0:
            self.failed.append(name)
            self.log(name, output)
            note = f"{reason(output)} {note}".strip()
        self.say(f"{name:66}{word:10}{seconds:7.1f} s  {note}")

    def each(self, jobs, run):
        """run(job) for all of them, several at a time; those for which there is no time are counted."""
        def guarded(job):
            if self.left() < 5:
                self.not_run += 1
            else:
                run(job)
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(guarded, jobs))


def reason(output):
    """What says most of why it failed, on one line."""
    for pattern in (r".*(?:illegal|misaligned|launch failure|too many resources|invalid argument|out of memory).*",
                    r".*(?:element \d+|RESULTS|seed \d+):? .*", r".*(?:the CUDA backend|cuda:?\d?:|device cuda).*",
                    r"Failure\n(?:.*\n){1,4}", r".*(?:[Ee]rror|throws|exception).*", r".+"):
        found = re.search(pattern, output)
        if found:
            return " ".join(found.group(0).split())[:160]
    return "(said nothing)"


def tests_of(plan, program, more=None):
    """What GoogleTest lists: a line for each suite, which ends in a period, and indented ones."""
    status, text, seconds = plan.process([program, "--gtest_list_tests"], 60, more)
    if status != 0:
        plan.line(f"{program.name}: its list of tests", status, text, seconds)
        return
    suite = ""
    for row in text.splitlines():
        row = row.split("#")[0].rstrip()
        if row.endswith(".") and not row.startswith(" "):
            suite = row
        elif row.startswith("  "):
            yield suite + row.strip()


def kernel_tests(plan):
    """(name, program, test, environment) of each test; generated kernels are also interpreted."""
    for name in PROGRAMS:
        program = plan.build / TESTS / name
        if not program.exists():
            plan.say(f"{name}: not built")
            continue
        ways = [("", {})]
        if name == "generated_test":
            ways = [(" (interpreted)", {"MT_CUDA_GENERATE": "0"}), (" (NVRTC)", {"MT_CUDA_GENERATE": "wait"})]
        for test in tests_of(plan, program):
            for how, more in ways:
                if re.search(plan.options.match, test + how):
                    yield test + how, program, test, more


def smoke(plan):
    def run(job):
        name, program, test, more = job
        command = [program, f"--gtest_filter={test}"]
        status, output, seconds = plan.process(command, 90, more)
        note = ""
        if status != 0 and plan.left() > 5:
            again, told, _ = plan.process(command, 90, {**more, **CAREFUL})
            note = "ok" if again == 0 else "the same" if reason(told) == reason(output) else reason(told)
            note = f"[with care: {note}]"
            plan.log(name + ", with care", told)
        plan.line(name, status, output, seconds, note)
    plan.each(list(kernel_tests(plan)), run)


def suites(plan):
    """Larger programs in parts; what fails there, or comes after a crash, runs by itself."""
    program = plan.build / "tests/every_operator_test"
    alone = []

    def part(shard):
        more = {"GTEST_TOTAL_SHARDS": str(SHARDS), "GTEST_SHARD_INDEX": str(shard)}
        status, output, seconds = plan.process([program], 240, more)
        passed = set(re.findall(r"\[ +(?:OK|SKIPPED) +\] (\S+)", output))
        begun = re.findall(r"\[ RUN +\] (\S+)", output)
        bad = [test for test in begun if test not in passed]
        plan.say(f"{f'every operator, part {shard + 1} of {SHARDS}':66}{len(passed):5} ok{len(bad):5} not "
                 f"{seconds:6.1f} s" + ("" if status in (0, 1) else f"  ended early: {status}"))
        alone.extend(bad)
        if status not in (0, 1):
            alone.extend(set(tests_of(plan, program, more)) - set(begun))

    def by_itself(test):
        status, output, seconds = plan.process([program, f"--gtest_filter={test}"], 60)
        if status != 0:
            plan.line(test, status, output, seconds)

    if program.exists():
        plan.each(range(SHARDS), part)
        plan.each(alone[:200], by_itself)
    graphs = plan.build / TESTS / "cuda_test"
    if graphs.exists() and plan.left() > 5:
        for name, filtered, count in ("random graphs", "CudaGraphs.GiveTheBitsOfTheCpu", 400), \
                                     ("random graphs with long sums", "CudaGraphs.*LongSums", 20):
            plan.line(f"{count} {name}", *plan.process([graphs, f"--gtest_filter={filtered}"], 180,
                                                       {"MT_TEST_GRAPHS": str(count)}))


def benchmarks(plan):
    """A process for each row."""
    program = [sys.executable, ROOT / "benchmarks/device.py", "--modules", plan.build / "benchmarks"]
    tiny = ["--tiny"] if plan.options.tiny else []
    status, text, seconds = plan.process(program + tiny + ["--list"], 60)
    if status != 0:
        plan.line("benchmarks/device.py --list", status, text, seconds)
        return
    for row in [line.split()[0] for line in text.splitlines()]:
        if not re.search(plan.options.match, row):
            continue
        if plan.left() < 15:
            plan.not_run += 1
            continue
        status, text, seconds = plan.process(
            program + tiny + ["--row", row, "--seconds", str(plan.options.seconds)], 90)
        if status == 0:
            plan.say(text.strip().splitlines()[-1])
        else:
            plan.line(f"benchmark {row}", status, text, seconds)


def sanitizer(plan):
    tool = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if not tool:
        plan.say("compute-sanitizer: not installed")
        return
    jobs = [(check, job) for check in ("memcheck", "racecheck", "synccheck") for job in kernel_tests(plan)
            if "Graphs.GiveTheBits" not in job[0]]

    def run(job):
        check, (name, program, test, more) = job
        command = [tool, "--tool", check, "--error-exitcode", "86", program, f"--gtest_filter={test}"]
        plan.line(f"{check}: {name}", *plan.process(command, 120, more))
    plan.each(jobs, run)


def machine(plan):
    for command in (["nvidia-smi", "--query-gpu=name,driver_version,memory.total,mig.mode.current", "--format=csv"],
                    ["nvcc", "--version"], ["compute-sanitizer", "--version"]):
        if shutil.which(command[0]):
            said = plan.process(command, 30)[1].strip().splitlines()
            plan.say(f"{command[0]}: " + (said[-1] if said else ""))
        else:
            plan.say(f"{command[0]}: not there")


def has_device(plan):
    """Whether there is one at all: else every test would say so."""
    program = plan.build / TESTS / "cuda_device_test"
    if not program.exists():
        return True
    _, said, _ = plan.process([program, "--gtest_filter=CudaDevice.CountsItsMemory"], 60)
    missing = re.search(r"cuda: (?:no NVIDIA|the NVIDIA) driver.*|.*the CUDA backend could not be loaded.*", said)
    if missing:
        plan.say(missing.group(0))
    return not missing


def run_all(options):
    plan = Plan(options)
    machine(plan)
    if not has_device(plan):
        return 1
    for phase in options.phases.split(","):
        if plan.left() < 5:
            plan.say(f"---- {phase}: no time")
            continue
        plan.say(f"---- {phase}, {plan.left() / 60:.1f} minutes left")
        globals()[phase](plan)
    plan.say(f"---- {len(plan.failed)} failed, {plan.not_run} had no time")
    return 1 if plan.failed else 0


OF_THE_SYSTEM = re.compile(r"^(lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|cuda)\.so|ld-linux|linux-vdso|libmtorch)")


def pack(build, file):
    """Paths in the archive are those of the tree, under mtorch-gpu."""
    built = ["tests/every_operator_test", "benchmarks/librows.so", "src/libmtorch_cuda.so"]
    built += [f"{TESTS}/{name}" for name in PROGRAMS]
    built += [f"src/{path.name}" for path in (build / "src").glob("libmtorch.so*") if not path.is_dir()]
    built = [name for name in built if (build / name).exists()]
    with tarfile.open(file, "w:gz") as archive:
        needed = {}
        for name in built:
            archive.add(build / name, f"mtorch-gpu/build/{name}")
            listed = subprocess.run(["ldd", build / name], capture_output=True, text=True, check=True).stdout
            needed.update(re.findall(r"(\S+) => (/\S+)", listed))
        for name, place in sorted(needed.items()):
            if not OF_THE_SYSTEM.match(name):
                archive.add(os.path.realpath(place), f"mtorch-gpu/build/lib/{name}")
        for part in ("benchmarks", TESTS):
            for path in sorted((ROOT / part).rglob("*.py")):
                archive.add(path, f"mtorch-gpu/{path.relative_to(ROOT)}")
    print(f"{file}: {os.path.getsize(file) >> 20} MiB, {len(built)} files")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("build", type=pathlib.Path)
    packing.add_argument("file", type=pathlib.Path)
    running = commands.add_parser("run")
    running.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    running.add_argument("--out", type=pathlib.Path, default=pathlib.Path(os.environ.get("OUT", "gpu-report")))
    running.add_argument("--minutes", type=float, default=9, help="default: %(default)s")
    running.add_argument("--phases", default=",".join(PHASES), help="default: %(default)s")
    running.add_argument("--match", default=".*", help="only tests and rows with names like that")
    running.add_argument("--jobs", type=int, default=max(2, min(8, os.cpu_count() // 2)), help="processes at a time; default: %(default)s")
    running.add_argument("--seconds", type=float, default=1, help="for a benchmark's row; default: %(default)s")
    running.add_argument("--tiny", action="store_true", help="benchmarks of sizes for a simulated device")
    options = parser.parse_args()
    if options.command == "pack":
        return pack(options.build, options.file)
    unknown = set(options.phases.split(",")) - set(PHASES)
    if unknown:
        parser.error(f"there is no phase {', '.join(sorted(unknown))}")
    return run_all(options)


if __name__ == "__main__":
    sys.exit(main())
