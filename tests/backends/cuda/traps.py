# SPDX-License-Identifier: Apache-2.0
"""No kernel has become a trap: traps.py <nvcc> <kernel.cu>... --flags <flag>...

Where device code does what only the host can, as look into a host's table, nvcc says nothing and puts
a trap in the place of all that follows.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

nvcc, *kernels = sys.argv[1:]
kernels, flags = kernels[:kernels.index('--flags')], kernels[kernels.index('--flags') + 1:]
faults = []
with tempfile.TemporaryDirectory() as folder:
    # Kernels for Hopper have no bodies for what came before it.
    built = [(kernel, 'compute_80') for kernel in kernels]
    built += [(kernel, 'compute_90a') for kernel in kernels if 'hopper' in pathlib.Path(kernel).name]
    for kernel, architecture in built:
        text = pathlib.Path(folder) / 'kernel.ptx'
        subprocess.run([nvcc, *flags, '-rdc=true', f'-arch={architecture}', '-ptx', kernel, '-o', text], check=True)
        name = ''
        for line in text.read_text().splitlines():
            found = re.search(r'\.(?:entry|func)\b.*?(\w+)\($', line)
            name = found.group(1) if found else name
            if line.strip() == 'trap;':
                faults.append(f'{kernel}: {name}')
print('\n'.join(faults) or f'{len(kernels)} files of kernels are whole')
sys.exit(bool(faults))
