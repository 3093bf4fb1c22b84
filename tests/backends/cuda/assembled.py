# SPDX-License-Identifier: Apache-2.0
"""What ptxas makes of Hopper's kernels: assembled.py <nvcc> <kernel.cu>... --alone <kernel.cu>... --flags <flag>...

It warns where products of warpgroups wait for each other, or where registers are not moved between
warpgroups, and then gives slow code; and a kernel whose registers do not suffice keeps some of them in
memory. With those that are alone no other file's code is linked. The flags are those that all are built with.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

nvcc, *rest = sys.argv[1:]
kernels, alone = rest[:rest.index('--alone')], rest[rest.index('--alone') + 1:rest.index('--flags')]
flags = rest[rest.index('--flags') + 1:]
kernels = [kernel for kernel in kernels if 'hopper' in pathlib.Path(kernel).name]
most_spilled = 64  # bytes: a few addresses, but no sums
if nvcc == 'none':
    print('nvcc is not installed')
    sys.exit(77)
faults, seen = [], 0
with tempfile.TemporaryDirectory() as folder:
    for kernel in kernels:
        built = subprocess.run([nvcc, *flags, '-rdc=false' if kernel in alone else '-rdc=true', '-Xptxas', '-v',
                                '-gencode', 'arch=compute_90a,code=sm_90a', '-cubin', kernel,
                                '-o', pathlib.Path(folder) / 'kernel.cubin'], capture_output=True, text=True)
        if built.returncode != 0:
            sys.exit(f'{kernel}: {built.stderr}')
        name = ''
        for line in built.stderr.splitlines():
            found = re.search(r"Compiling entry function '(\w+)'", line)
            name = found.group(1) if found else name
            spilled = re.search(r'(\d+) bytes spill stores, (\d+) bytes spill loads', line)
            seen += bool(spilled)
            if 'warning' in line.lower() or re.search(r'\(C7\d\d\d\)', line):
                faults.append(f'{kernel}: {line.strip()}')
            elif spilled and max(map(int, spilled.groups())) > most_spilled:
                faults.append(f'{kernel}: {name}: {spilled.group(0)}')
print('\n'.join(faults) or f'{seen} functions are assembled as they are meant to be')
sys.exit(bool(faults) or seen < len(kernels))
