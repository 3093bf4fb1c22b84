# SPDX-License-Identifier: Apache-2.0
"""What ptxas makes of Hopper's kernels: assembled.py <nvcc> <source folder> <kernel.cu>... --alone <kernel.cu>...

It warns where products of warpgroups wait for each other, or where registers are not moved between
warpgroups, and then gives slow code; and a kernel whose registers do not suffice keeps some of them in
memory. With those that are alone no other file's code is linked.
"""
import re
import subprocess
import sys

nvcc, source, *kernels = sys.argv[1:]
kernels, alone = kernels[:kernels.index('--alone')], kernels[kernels.index('--alone') + 1:]
kernels = [kernel for kernel in kernels if 'hopper' in kernel]
most_spilled = 64  # bytes: a few addresses, but no sums
if nvcc == 'none':
    print('nvcc is not installed')
    sys.exit(77)
faults, seen = [], 0
for kernel in kernels:
    said = subprocess.run([nvcc, '-std=c++20', '-O2', '-fmad=false', '--expt-relaxed-constexpr',
                           '-rdc=false' if kernel in alone else '-rdc=true', '-diag-suppress', '186', '-Xptxas', '-v',
                           '-gencode', 'arch=compute_90a,code=sm_90a', '-I', source, '-cubin', kernel,
                           '-o', '/dev/null'], check=True, capture_output=True, text=True).stderr
    name = ''
    for line in said.splitlines():
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
