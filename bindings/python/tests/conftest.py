# SPDX-License-Identifier: Apache-2.0
"""The same examples at every run, and nothing written into the source tree."""
from hypothesis import settings

settings.register_profile("repeatable", database=None, derandomize=True)
settings.load_profile("repeatable")
