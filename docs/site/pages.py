# SPDX-License-Identifier: Apache-2.0
"""The site's pages, in the order of its navigation."""

PAGES = [
    ("Start", [
        ("mtorch", "docs/index.md"),
        ("Ten minutes", "docs/tutorial.md"),
    ]),
    ("Concepts", [
        ("Values and deferred work", "docs/values.md"),
        ("The tape", "docs/tape.md"),
        ("What fuses, in pictures", "docs/fused.md"),
        ("Backends and devices", "docs/devices.md"),
        ("The same bits", "docs/determinism.md"),
    ]),
    ("Guides", [
        ("Coming from PyTorch", "docs/pytorch.md"),
        ("Coming from MiniTorch", "docs/minitorch.md"),
        ("Kernels of your own", "docs/kernels.md"),
        ("Inside your program", "docs/program.md"),
        ("The same in four languages", "docs/names.md"),
        ("Adding an operator", "CONTRIBUTING.md"),
    ]),
    ("Reference", [
        ("C", "c/index.html"),
        ("C++", "cpp/index.html"),
        ("Python", "python/index.html"),
        ("Java", "java/index.html"),
        ("Array API standard", "docs/array_api.md"),
        ("Versions", "docs/versioning.md"),
        ("Changes", "CHANGELOG.md"),
    ]),
    ("Inside", [
        ("Planning, step by step", "docs/planning.md"),
        ("Mathematics", "docs/math.md"),
        ("The CUDA backend", "docs/cuda.md"),
    ]),
    ("Speed", [
        ("Performance", "docs/performance.md"),
        ("Performance on Zen 3", "docs/performance_zen3.md"),
        ("Performance on Zen 4", "docs/performance_zen4.md"),
        ("Performance on Zen 5", "docs/performance_zen5.md"),
        ("What limits what", "docs/limits.md"),
        ("Limits of calls", "docs/limits/calls.md"),
        ("Limits of programs", "docs/limits/programs.md"),
        ("Limits of products", "docs/limits/products.md"),
        ("Limits of other shapes", "docs/limits/shapes.md"),
        ("Limits of networks", "docs/limits/networks.md"),
        ("Limits of convolutions", "docs/limits/convolutions.md"),
        ("Limits of picking", "docs/limits/picking.md"),
    ]),
]
