# SPDX-License-Identifier: Apache-2.0
"""No kernel has become a trap: traps.py <nvcc> <source folder> <kernel.cu>...

Where device code does what only the host can, as look into a host's table, nvcc says nothing and puts
a trap in the place of all that follows.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

nvcc, source, *kernels = sys.argv[1:]
faults = []
with tempfile.TemporaryDirectory() as folder:
    # Kernels for Hopper have no bodies for what came before it.
    built = [(kernel, 'compute_80') for kernel in kernels]
    built += [(kernel, 'compute_90a') for kernel in kernels if 'hopper' in kernel]
    for kernel, architecture in built:
        text = pathlib.Path(folder) / 'kernel.ptx'
        subprocess.run([nvcc, '-std=c++20', '-O1', '-fmad=false', '--expt-relaxed-constexpr',
                        '-rdc=true', '-diag-suppress', '186', f'-arch={architecture}', '-I', source, '-ptx',
                        kernel, '-o', text], check=True)
        name = ''
        for line in text.read_text().splitlines():
            found = re.search(r'\.(?:entry|func)\b.*?(\w+)\($', line)
            name = found.group(1) if found else name
            if line.strip() == 'trap;':
                faults.append(f'{kernel}: {name}')
print('\n'.join(faults) or f'{len(kernels)} files of kernels are whole')
sys.exit(bool(faults))
