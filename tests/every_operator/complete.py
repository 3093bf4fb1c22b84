# SPDX-License-Identifier: Apache-2.0
"""Every operator that the public C headers declare has a case, vectors for all languages, and a form
in the C++ headers: complete.py PROGRAM INCLUDE_DIRECTORY CASES.json"""
import json
import pathlib
import re
import subprocess
import sys

program, include, vectors = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
# What returns a tensor without being an operator, or has tests of its own because its result is
# random or comes in several parts.
EXCEPTIONS = {
    'apply', 'apply_attention', 'apply_kept', 'kept_zeros', 'parameters_tensor',
    'parameters_get',  # layers and parameters
    'uniform', 'normal', 'integers', 'bernoulli', 'permutation', 'categorical',  # random numbers
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
# What sets or returns tensors and has no vectors, and why.
WITHOUT_VECTORS = {
    **dict.fromkeys(('apply', 'apply_attention', 'apply_kept', 'kept_zeros', 'apply_recurrent',
                     'parameters_tensor', 'parameters_get'), 'layers and collections'),
    **dict.fromkeys(('take', 'retain', 'from_data', 'wrap', 'wrap_mutable', 'to_device'),
                    'handles and memory: tested by each language'),
    'whole_number': 'takes the type of what it meets',
}


def called(value):
    """Every operator that a case calls, within its arguments too."""
    if isinstance(value, dict):
        yield from [value["call"]] if "call" in value else []
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from called(item)


results = set()
for header in [*HEADERS, 'tensor.h']:
    text = re.sub(r'\s+', ' ', (include / header).read_text())
    for name, parameters in re.findall(r'MT_API mt_(?:tensor\*|status) mt_(\w+)\(([^;]*)\);', text):
        if f'MT_API mt_tensor* mt_{name}(' in text or 'mt_tensor** ' in parameters:
            results.add(name)
in_files = json.loads(vectors.read_text())
in_files = {case['operator'] for case in in_files} | set(called(in_files))
if '"number"' in vectors.read_text():
    in_files.add('number')
without = sorted(results - in_files - set(WITHOUT_VECTORS))
needless = sorted(set(WITHOUT_VECTORS) - (results - in_files))
# The C++ headers have each, by a macro or by hand.
cxx = "".join(path.read_text() for path in include.glob('*.hpp'))
wrapped = set(re.findall(r'\b(?:mt_|MT_[A-Z]+_\((?:\w+, )?)(\w+)', cxx))
absent = sorted(name for name in declared if name.removesuffix('_keep') not in wrapped)
if absent:
    print('not in include/mtorch/*.hpp:', ', '.join(absent))
if missing:
    print('without a case in tests/every_operator/*cases.cpp:', ', '.join(missing))
if without:
    print('without vectors (./dev vectors):', ', '.join(without))
if needless:
    print('excepted here but not without vectors:', ', '.join(needless))
if unknown:
    print('excepted here but not declared:', ', '.join(unknown))
sys.exit(bool(missing or unknown or absent or without or needless))
