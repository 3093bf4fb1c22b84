# SPDX-License-Identifier: Apache-2.0
"""on_gpu.py with programs that do what tests on a GPU may do: pass, fail, crash, hang."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

SCRIPT = pathlib.Path(__file__).with_name("on_gpu.py")

# A program that looks like GoogleTest's.
PROGRAM = """#!/bin/sh
if [ "$1" = --gtest_list_tests ]; then
  printf 'Running main()\\nKernels.\\n  Passes\\n  Fails  # GetParam() = 1\\n  Crashes\\n  Hangs\\n  Skips\\n'
  exit
fi
case $1 in
  *Passes) exit 0 ;;
  *Fails) echo "an illegal memory access"; [ "$CUDA_LAUNCH_BLOCKING" = 1 ]; exit ;;
  *Crashes) kill -SEGV $$ ;;
  *Hangs) exec sleep 60 ;;
  *Skips) echo "[  SKIPPED ] Kernels.Skips"; exit 0 ;;
esac
"""
# A suite of 40 tests. Its list, as GoogleTest's, has them all in whichever part. The fifth ends the process, the
# seventh fails where others come with it, the ninth is skipped.
SUITE = """#!/bin/sh
if [ "$1" = --gtest_list_tests ]; then
  echo All.
  for i in $(seq 40); do echo "  Test$i"; done
  exit
fi
tests=${1#--gtest_filter=}
status=0
IFS=:
for test in $tests; do
  echo "[ RUN      ] $test"
  case $test in
    All.Test5) kill -ABRT $$ ;;
    All.Test7)
      if [ "$tests" != All.Test7 ]; then
        echo "it is wrong"; echo "[  FAILED  ] All.Test7, where GetParam() = 1 (1 ms)"; status=1
        continue
      fi ;;
    All.Test9) echo "[  SKIPPED ] All.Test9 (1 ms)"; continue ;;
  esac
  echo "[       OK ] $test (1 ms)"
done
case $tests in *Test9:*) echo "[  SKIPPED ] 1 test, listed below:"; echo "[  SKIPPED ] All.Test9" ;; esac
exit $status
"""
BENCHMARK = """import sys
print("a module is old.", file=sys.stderr)
if "--list" in sys.argv: print("silent  of one\\ngood  of another")
elif "good" in sys.argv: print("good 1 ms \u00b1 0.1")
"""

# The second of three rows fails; one that is asked to measure adds a line.
TUNED = """import os, sys
if "--list" in sys.argv:
    print("row1\\nrow2\\nrow3")
    sys.exit()
row = next(word for word in sys.argv if word.startswith("row"))
if row == "row2":
    sys.exit("it fails")
measured, read = os.environ.get("MT_CUDA_TUNE"), os.environ.get("MT_CUDA_TUNED")
if measured:
    fresh = not os.path.exists(measured)
    with open(measured, "a") as file:
        file.write("mtorch products 1\\n" * fresh + f"a GPU: m={row[3:]} -> mma_128x128 (1.0 us)\\n")
print(row, "with", len(open(read).readlines()) if read else 0, "lines")
"""


class OnGpu(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.build = pathlib.Path(self._folder.name)
        temporary = self.build / "temporary"
        temporary.mkdir()
        self.enterContext(unittest.mock.patch.dict(os.environ, TMPDIR=str(temporary)))
        self.enterContext(unittest.mock.patch("tempfile.tempdir", str(temporary)))
        self.addCleanup(lambda: self.assertEqual(os.listdir(temporary), []))  # all leave nothing there
        self.program("tests/backends/cuda/cuda_test", PROGRAM)
        self.program("tests/every_operator_test", SUITE)

    def program(self, name, text):
        file = self.build / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def tree(self, benchmark):
        """The folder of on_gpu.py in a tree with other benchmarks."""
        folder = self.build / "tree/tests/backends/cuda"
        folder.mkdir(parents=True)
        for name in "on_gpu.py", "gpu_plan.py":
            shutil.copy(SCRIPT.with_name(name), folder)
        (self.build / "tree/benchmarks").mkdir()
        (self.build / "tree/benchmarks/device.py").write_text(benchmark, encoding="utf-8")
        return folder

    def run_plan(self, *options, **environment):
        out = self.build / "out"
        done = subprocess.run([sys.executable, SCRIPT, "run", "--build", self.build, "--out", out, *options],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "OUT": "", **environment})
        report = (out / "report.txt").read_text()
        self.assertEqual(report.strip(), done.stdout.strip(), done.stderr)
        lines = {row.split("  ")[0]: row for row in report.splitlines()}
        return done.returncode, report, lines, (out / "log.txt").read_text()

    def test_one_that_fails_leaves_the_others(self):
        status, report, lines, log = self.run_plan("--phases", "smoke", "--jobs", "5", "--patience", "0.05")
        self.assertEqual(status, 1)
        self.assertIn(" ok ", lines["Kernels.Passes"])
        self.assertIn("skipped", lines["Kernels.Skips"])
        self.assertIn("FAILED", lines["Kernels.Fails"])
        self.assertIn("an illegal memory access [with care: ok]", lines["Kernels.Fails"])
        self.assertIn("SIGNAL 11", lines["Kernels.Crashes"])
        self.assertIn("TIME", lines["Kernels.Hangs"])
        self.assertIn("4 ran, 3 failed, 0 had no time", report)
        self.assertIn("an illegal memory access", log)

    def test_what_fails_among_others_has_failed(self):
        status, report, lines, log = self.run_plan("--phases", "suites")
        self.assertEqual(status, 1)
        self.assertIn("FAILED", lines["All.Test7"])
        self.assertIn("it is wrong [passes alone]", lines["All.Test7"])
        self.assertIn("======== every operator, part 7 of 16", log)
        self.assertIn("2 failed", report)

    def test_what_comes_after_a_crash_runs_by_itself(self):
        status, report, lines, _ = self.run_plan("--phases", "suites")
        self.assertEqual(status, 1)
        self.assertEqual(report.count("3 ok    0 not"), 6)
        self.assertEqual(report.count("2 ok    0 not"), 7)
        self.assertIn("1 ok    0 not", lines["every operator, part 9 of 16"])
        self.assertIn("2 ok    1 not", lines["every operator, part 7 of 16"])
        self.assertIn("0 ok    1 not", lines["every operator, part 5 of 16"])
        self.assertIn("ended early: -6", lines["every operator, part 5 of 16"])
        self.assertIn("SIGNAL 6", lines["All.Test5"])
        self.assertIn("---- 41 ran, 2 failed, 0 had no time", report)  # 39 tests, and twice random graphs

    def test_a_pattern_chooses_tests_of_suites(self):
        status, report, _, _ = self.run_plan("--phases", "suites", "--match", "Test1[0-9]$")
        self.assertEqual(status, 0)
        self.assertIn("---- 10 ran, 0 failed, 0 had no time", report)

    def test_what_the_end_cuts_off_has_not_failed(self):
        status, report, lines, _ = self.run_plan("--phases", "smoke", "--jobs", "5", "--minutes", "0.2",
                                                 "--match", "Passes|Hangs")
        self.assertEqual(status, 0)
        self.assertIn("no time", lines["Kernels.Hangs"])
        self.assertIn("1 ran, 0 failed, 1 had no time", report)

    def test_a_late_process_takes_its_own_along(self):
        child = self.build / "child"
        self.program("tests/backends/cuda/cuda_test", f"""#!/bin/sh
if [ "$1" = --gtest_list_tests ]; then printf 'Kernels.\n  Hangs\n'; exit; fi
sleep 300 & echo $! > {child}
echo begun
wait
""")
        status, _, lines, log = self.run_plan("--phases", "smoke", "--patience", "0.05")
        self.assertEqual(status, 1)
        self.assertIn("TIME", lines["Kernels.Hangs"])
        self.assertIn("begun", log)
        state = pathlib.Path("/proc", child.read_text().strip(), "stat")
        self.assertTrue(not state.exists() or ") Z " in state.read_text())

    def test_nothing_to_run_is_no_success(self):
        for name in "tests/backends/cuda/cuda_test", "tests/every_operator_test":
            (self.build / name).unlink()
        status, report, _, _ = self.run_plan("--phases", "smoke,suites")
        self.assertEqual(status, 1)
        self.assertIn("every_operator_test: not built", report)
        self.assertIn("---- 0 ran, 0 failed", report)

    def test_benchmarks_may_warn_and_say_nothing(self):
        folder = self.tree(BENCHMARK)
        out = self.build / "out"
        done = subprocess.run([sys.executable, folder / "on_gpu.py", "run", "--build", self.build, "--out", out,
                               "--phases", "benchmarks"], capture_output=True, check=False,
                              env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"})
        report = (out / "report.txt").read_text(encoding="utf-8")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("good 1 ms \u00b1 0.1", report)
        self.assertIn(b"good 1 ms \\xb1 0.1", done.stdout)
        self.assertRegex(report, "benchmark silent +FAILED")
        self.assertNotIn("benchmark a", report)
        self.assertIn("---- 2 ran, 1 failed", report)

    def test_measures_products_for_those_after_it(self):
        folder = self.tree(TUNED)
        done = subprocess.run([sys.executable, folder / "on_gpu.py", "run", "--build", self.build, "--out",
                               self.build / "out", "--phases", "tune,benchmarks"], capture_output=True, text=True,
                              check=False, env={**os.environ, "MT_CUDA_TUNED": ""})
        self.assertEqual(done.returncode, 1, done.stderr)  # one row fails
        self.assertIn("\na GPU: m=1 -> mma_128x128 (1.0 us)\na GPU: m=3 -> mma_128x128 (1.0 us)\n", done.stdout)
        self.assertIn("2 lines for the table", done.stdout)
        self.assertIn("row1 with 3 lines", done.stdout)
        self.assertIn("row3 with 3 lines", done.stdout)
        self.assertEqual((self.build / "out/products.txt").read_text().count("\n"), 3)

    def test_measures_nothing_where_no_row_runs(self):
        folder = self.tree("import sys\nprint('row1')\nsys.exit('--list' not in sys.argv)")
        done = subprocess.run([sys.executable, folder / "on_gpu.py", "run", "--build", self.build, "--out",
                               self.build / "out", "--phases", "tune"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("0 lines for the table", done.stdout)

    def test_says_whether_nvrtc_is_there(self):
        self.program("tests/backends/cuda/generated_test", PROGRAM)
        loader = self.build / "ctypes.py"
        for text, said, name in ("def CDLL(name): raise OSError", "not there", "(without NVRTC)"), \
                                ("def CDLL(name): pass", "libnvrtc.so.13", "(NVRTC)"):
            loader.write_text(text)
            _, report, lines, _ = self.run_plan("--phases", "smoke", "--match", "Passes",
                                                PYTHONPATH=str(self.build), PYTHONDONTWRITEBYTECODE="1")
            self.assertIn(f"NVRTC: {said}", report)
            self.assertIn(f"Kernels.Passes {name}", lines)
            (self.build / "out/report.txt").unlink()

    def test_runs_without_ldconfig(self):
        sys.path.insert(0, str(SCRIPT.parent))
        self.addCleanup(sys.path.remove, str(SCRIPT.parent))
        import gpu_plan
        options = argparse.Namespace(build=self.build, out=self.build / "out", minutes=1)
        self.program("lib/libone.so", "")
        with unittest.mock.patch("subprocess.run", side_effect=FileNotFoundError):
            plan = gpu_plan.Plan(options)
        self.addCleanup(plan.close)
        folder = plan.environment["LD_LIBRARY_PATH"].split(":")[0]
        self.assertEqual(os.listdir(folder), ["libone.so"])

    def test_stops_where_there_is_no_gpu(self):
        for said in "cuda: no NVIDIA driver is installed", \
                    "cuda:0: Tesla T4 has compute capability 7.5, and 8.0 is needed":
            self.program("tests/backends/cuda/cuda_device_test", f"""#!/bin/sh
echo 'C++ exception "{said}"'; exit 1""")
            status, report, _, _ = self.run_plan()
            self.assertEqual(status, 1)
            self.assertIn(said, report)
            self.assertNotIn("smoke", report)
            (self.build / "out/report.txt").unlink()

    def test_ends_in_time(self):
        status, report, _, _ = self.run_plan("--minutes", "0")
        self.assertEqual(status, 1)
        self.assertNotIn("Kernels.Passes", report)
        self.assertIn("smoke: no time", report)
        self.assertIn("nor had 4 of the phases", report)


if __name__ == "__main__":
    unittest.main()
