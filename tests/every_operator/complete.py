# SPDX-License-Identifier: Apache-2.0
"""Every operator that the public C headers declare has a case, and a form in the C++ headers:
complete.py PROGRAM INCLUDE_DIRECTORY"""
import pathlib
import re
import subprocess
import sys

program, include = sys.argv[1], pathlib.Path(sys.argv[2])
# What returns a tensor without being an operator, or has tests of its own because its result is
# random or comes in several parts.
EXCEPTIONS = {
    'apply', 'apply_attention', 'parameters_tensor', 'parameters_get',  # layers and parameters
    'uniform', 'normal', 'integers', 'bernoulli', 'permutation',  # random numbers
}
HEADERS = ['ops.h', 'reduce.h', 'view.h', 'linear.h', 'linalg.h', 'nn.h', 'random.h']

declared = set()
for header in HEADERS:
    text = (include / header).read_text()
    declared |= set(re.findall(r'^MT_API mt_tensor\* mt_(\w+)\(', text, re.M))
tested = set(subprocess.run([program, '--operators'], check=True, capture_output=True,
                            text=True).stdout.split())
missing = sorted(declared - tested - EXCEPTIONS)
unknown = sorted(EXCEPTIONS - declared)
# The C++ headers have each, by a macro or by hand.
cxx = "".join(path.read_text() for path in include.glob('*.hpp'))
wrapped = set(re.findall(r'\b(?:mt_|MT_[A-Z]+_\((?:\w+, )?)(\w+)', cxx))
absent = sorted(name for name in declared if name.removesuffix('_keep') not in wrapped)
if absent:
    print('not in include/mtorch/*.hpp:', ', '.join(absent))
if missing:
    print('without a case in tests/every_operator/*cases.cpp:', ', '.join(missing))
if unknown:
    print('excepted here but not declared:', ', '.join(unknown))
sys.exit(bool(missing or unknown or absent))
