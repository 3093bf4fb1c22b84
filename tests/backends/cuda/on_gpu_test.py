# SPDX-License-Identifier: Apache-2.0
"""on_gpu.py with programs that do what tests on a GPU may do: pass, fail, crash, hang."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

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
# A suite whose first test ends the process in one part.
SUITE = """#!/bin/sh
if [ "$1" = --gtest_list_tests ]; then printf 'All.\\n  First\\n  Second\\n'; exit; fi
case $1 in
  *First) echo "it is wrong"; exit 1 ;;
  *Second) exit 0 ;;
esac
if [ "$GTEST_SHARD_INDEX" = 3 ]; then echo "[ RUN      ] All.First"; kill -ABRT $$; fi
echo "[ RUN      ] All.Other$GTEST_SHARD_INDEX"
echo "[       OK ] All.Other$GTEST_SHARD_INDEX (1 ms)"
"""


class OnGpu(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.build = pathlib.Path(self._folder.name)
        self.program("tests/backends/cuda/cuda_test", PROGRAM)
        self.program("tests/every_operator_test", SUITE)

    def program(self, name, text):
        file = self.build / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def run_plan(self, *options):
        out = self.build / "out"
        done = subprocess.run([sys.executable, SCRIPT, "run", "--build", self.build, "--out", out, *options],
                              capture_output=True, text=True, check=False, env={**os.environ, "OUT": ""})
        report = (out / "report.txt").read_text()
        self.assertEqual(report.strip(), done.stdout.strip(), done.stderr)
        lines = {row.split("  ")[0]: row for row in report.splitlines()}
        return done.returncode, report, lines, (out / "log.txt").read_text()

    def test_one_that_fails_leaves_the_others(self):
        status, report, lines, log = self.run_plan("--phases", "smoke", "--minutes", "0.2")
        self.assertEqual(status, 1)
        self.assertIn(" ok ", lines["Kernels.Passes"])
        self.assertIn("skipped", lines["Kernels.Skips"])
        self.assertIn("FAILED", lines["Kernels.Fails"])
        self.assertIn("an illegal memory access [with care: ok]", lines["Kernels.Fails"])
        self.assertIn("SIGNAL 11", lines["Kernels.Crashes"])
        self.assertIn("TIME", lines["Kernels.Hangs"])
        self.assertIn("3 failed, 0 had no time", report)
        self.assertIn("an illegal memory access", log)

    def test_what_comes_after_a_crash_runs_by_itself(self):
        status, report, lines, _ = self.run_plan("--phases", "suites")
        self.assertEqual(status, 1)
        self.assertEqual(report.count("1 ok    0 not"), 15)
        self.assertIn("ended early: -6", lines["every operator, part 4 of 16"])
        self.assertIn("FAILED", lines["All.First"])
        self.assertNotIn("All.Second", lines)

    def test_stops_where_there_is_no_gpu(self):
        self.program("tests/backends/cuda/cuda_device_test", """#!/bin/sh
echo 'C++ exception "cuda: no NVIDIA driver is installed"'; exit 1""")
        status, report, _, _ = self.run_plan()
        self.assertEqual(status, 1)
        self.assertIn("cuda: no NVIDIA driver is installed", report)
        self.assertNotIn("smoke", report)

    def test_ends_in_time(self):
        status, report, _, _ = self.run_plan("--minutes", "0")
        self.assertEqual(status, 0)
        self.assertNotIn("Kernels.Passes", report)
        self.assertIn("smoke: no time", report)


if __name__ == "__main__":
    unittest.main()
