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
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

from gpu_plan import CUT, Plan, reason

ROOT = pathlib.Path(__file__).resolve().parents[3]
TESTS = "tests/backends/cuda"
PROGRAMS = ["cuda_device_test", "cuda_test", "generated_test", "kernel_test"]
CAREFUL = {"CUDA_LAUNCH_BLOCKING": "1", "MT_CUDA_GRAPHS": "0", "MT_CUDA_GENERATE": "0"}
PHASES = ["smoke", "suites", "benchmarks", "sanitizer"]
ASKED_FOR = ["tune"]
SHARDS = 16
MOST_ALONE = 200


def tests_of(plan, program):
    """What GoogleTest lists: a line for each suite, which ends in a period, and indented ones."""
    status, text, seconds = plan.process([program, "--gtest_list_tests"], 60, apart=True)
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
            ways = [(" (interpreted)", {"MT_CUDA_GENERATE": "0"}),
                    (" (NVRTC)" if plan.nvrtc else " (without NVRTC)", {"MT_CUDA_GENERATE": "wait"})]
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
        if status not in (0, CUT) and plan.left() > 5:
            again, told, _ = plan.process(command, 90, {**more, **CAREFUL})
            note = "no time" if again == CUT else "ok" if again == 0 else \
                "the same" if reason(told) == reason(output) else reason(told)
            note = f"[with care: {note}]"
            plan.log(name + ", with care", told)
        plan.line(name, status, output, seconds, note)
    plan.each(list(kernel_tests(plan)), run)


def suites(plan):
    """A larger program in parts. What fails there has failed; whether it passes by itself says where to look. What
    a crash kept from running runs by itself."""
    program = plan.build / "tests/every_operator_test"
    tests = []
    if program.exists():
        tests = [test for test in tests_of(plan, program) if re.search(plan.options.match, test)]
    else:
        plan.say(f"{program.name}: not built")
    place = {test: i for i, test in enumerate(tests)}
    failed, unseen = [], []

    def part(shard):  # not GTEST_SHARD_INDEX: then which tests are in it could not be listed
        mine = tests[shard::SHARDS]
        name = f"every operator, part {shard + 1} of {SHARDS}"
        status, output, seconds = plan.process([program, "--gtest_filter=" + ":".join(mine)], 240)
        said = {}  # by each test that was begun
        for text in output.split("[ RUN      ] ")[1:]:
            test, _, text = text.partition("\n")
            said[test.strip()] = text
        done = {kind: [test for test, text in said.items()
                       if re.search(rf"\[ +{kind} +\] {re.escape(test)}(?![^\s,])", text)]
                for kind in ("OK", "SKIPPED", "FAILED")}
        bad = [test for test in said if test not in done["OK"] + done["SKIPPED"]]
        late = [test for test in bad if status == CUT and test not in done["FAILED"]]
        failed.extend((test, 1 if test in done["FAILED"] or status == 0 else status, said[test])
                      for test in bad if test not in late)
        rest = [test for test in mine if test not in said]
        unseen.extend(rest if status != CUT else [])
        plan.count(ran=len(done["OK"]), not_run=len(late) + (len(rest) if status == CUT else 0))
        plan.say(f"{name:66}{len(done['OK']):5} ok{len(bad) - len(late):5} not "
                 f"{seconds:6.1f} s" + ("" if status in (0, 1) else f"  ended early: {status or 'TIME'}"))
        if status not in (0, CUT):
            plan.log(name, output)
            if not bad:  # at its end, or before its first test
                plan.line(name, status, output, seconds)

    def again(job):
        test, status, output = job
        note, seconds = "not run alone", 0.0
        if plan.left() > 5:
            alone, told, seconds = plan.process([program, f"--gtest_filter={test}"], 60)
            note = "not run alone" if alone == CUT else "passes alone" if alone == 0 else f"alone: {reason(told)}"
            plan.log(test + ", alone", told)
        plan.line(test, status, output, seconds, f"[{note}]")

    def by_itself(test):
        status, output, seconds = plan.process([program, f"--gtest_filter={test}"], 60)
        if status == 0:
            plan.count(ran="[  SKIPPED ]" not in output)
        else:
            plan.line(test, status, output, seconds)

    plan.each(range(min(SHARDS, len(tests))), part, lambda shard: len(tests[shard::SHARDS]))
    failed.sort(key=lambda job: place.get(job[0], len(place)))
    unseen.sort(key=place.get)
    with concurrent.futures.ThreadPoolExecutor(plan.options.jobs) as pool:  # these are told even if there is no time
        list(pool.map(again, failed[:MOST_ALONE]))
    for test, status, output in failed[MOST_ALONE:]:
        plan.line(test, status, output, 0.0, "[not run alone]")
    plan.each(unseen[:MOST_ALONE], by_itself)
    plan.count(not_run=len(unseen[MOST_ALONE:]))
    random_graphs(plan)


def random_graphs(plan):
    program = plan.build / TESTS / "cuda_test"
    for name, filtered, count in ("random graphs", "CudaGraphs.GiveTheBitsOfTheCpu", 400), \
                                 ("random graphs with long sums", "CudaGraphs.*LongSums", 20):
        if not program.exists() or not re.search(plan.options.match, f"{name} {filtered}"):
            continue
        if plan.left() < 5:
            plan.count(not_run=1)
            continue
        plan.line(f"{count} {name}", *plan.process([program, f"--gtest_filter={filtered}"], 180,
                                                   {"MT_TEST_GRAPHS": str(count)}))


def rows_of_benchmarks(plan, sample, more=None):
    """A process for each row: what those that succeed say."""
    program = [sys.executable, ROOT / "benchmarks/device.py", "--modules", plan.build / "benchmarks"]
    tiny = ["--tiny"] if plan.options.tiny else []
    status, text, seconds = plan.process(program + tiny + ["--list"], 60, apart=True)
    if status != 0:
        plan.line("benchmarks/device.py --list", status, text, seconds)
        return
    for row in [line.split()[0] for line in text.splitlines() if line.strip()]:
        if not re.search(plan.options.match, row):
            continue
        if plan.left() < 15:
            plan.count(not_run=1)
            continue
        status, text, seconds = plan.process(program + tiny + ["--row", row, "--seconds", str(sample)], 90, more,
                                             apart=True)
        if status == 0 and text.strip():
            plan.count(ran=1)
            yield text.strip().splitlines()[-1]
        else:
            plan.line(f"benchmark {row}", 1 if status == 0 else status, text, seconds)


def benchmarks(plan):
    for said in rows_of_benchmarks(plan, plan.options.seconds):
        plan.say(said)


def tune(plan):
    """Measures which kernel makes each product of the benchmarks' rows best. The phases after it take what it has
    found."""
    file = (plan.options.out / "products.txt").resolve()
    for _ in rows_of_benchmarks(plan, 0, {"MT_CUDA_TUNE": str(file)}):
        pass
    found = file.read_text(encoding="utf-8").splitlines()[1:] if file.exists() else []
    for line in found:
        plan.say(line)
    plan.say(f"{len(found)} lines for the table in contract_kernels.cpp, also in {file.name}")
    if found:
        plan.environment["MT_CUDA_TUNED"] = str(file)


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


# As the library looks for it.
NVRTC = """import ctypes
for name in ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"):
    try:
        ctypes.CDLL(name)
        raise SystemExit(print(name))
    except OSError:
        pass
raise SystemExit(1)"""


def machine(plan):
    for command in (["nvidia-smi", "--query-gpu=name,driver_version,memory.total,mig.mode.current", "--format=csv"],
                    ["nvcc", "--version"], ["compute-sanitizer", "--version"]):
        if shutil.which(command[0]):
            said = plan.process(command, 30)[1].strip().splitlines()
            plan.say(f"{command[0]}: " + (said[-1] if said else ""))
        else:
            plan.say(f"{command[0]}: not there")
    found, name, _ = plan.process([sys.executable, "-c", NVRTC], 30, apart=True)
    plan.nvrtc = found == 0
    plan.say("NVRTC: " + (name.strip() if plan.nvrtc else "not there: all generated kernels are interpreted"))


def has_device(plan):
    """Whether there is one at all: else every test would say so."""
    program = plan.build / TESTS / "cuda_device_test"
    if not program.exists():
        return True
    _, said, _ = plan.process([program, "--gtest_filter=CudaDevice.CountsItsMemory"], 60)
    missing = re.search(r"cuda: (?:no NVIDIA|the NVIDIA) driver.*|.*the CUDA backend could not be loaded.*|"
                        r"cuda:\d+: .* has compute capability .* is needed", said)
    if missing:
        plan.say(missing.group(0))
    return not missing


def run_all(plan):
    machine(plan)
    if not has_device(plan):
        return 1
    phases = 0
    for phase in plan.options.phases.split(","):
        if plan.left() < 5:
            plan.say(f"---- {phase}: no time")
            phases += 1
            continue
        plan.say(f"---- {phase}, {plan.left() / 60:.1f} minutes left")
        globals()[phase](plan)
    plan.say(f"---- {plan.ran} ran, {len(plan.failed)} failed, {plan.not_run} had no time"
             + (f", nor had {phases} of the phases" if phases else ""))
    return 1 if plan.failed or plan.ran == 0 else 0


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
    running.add_argument("--phases", default=",".join(PHASES),
                         help="default: %(default)s; another: " + ", ".join(ASKED_FOR))
    running.add_argument("--match", default=".*", help="only tests and rows with names like that")
    running.add_argument("--jobs", type=int, default=max(2, min(8, (os.cpu_count() or 2) // 2)), help="processes at a time; default: %(default)s")
    running.add_argument("--patience", type=float, default=1, help="the limits of processes, times this")
    running.add_argument("--seconds", type=float, default=1, help="for a benchmark's row; default: %(default)s")
    running.add_argument("--tiny", action="store_true", help="benchmarks of sizes for a simulated device")
    options = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")
    if options.command == "pack":
        return pack(options.build, options.file)
    unknown = set(options.phases.split(",")) - set(PHASES + ASKED_FOR)
    if unknown:
        parser.error(f"there is no phase {', '.join(sorted(unknown))}")
    with contextlib.closing(Plan(options)) as plan:
        return run_all(plan)


if __name__ == "__main__":
    sys.exit(main())
