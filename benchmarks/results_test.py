# SPDX-License-Identifier: Apache-2.0
"""The page of results and its picture are what bench.py draws from the numbers beside the picture."""
import json
import pathlib
import re
import sys

try:
    import chart
    import tables
except ImportError as error:  # NumPy
    print(error)
    sys.exit(77)  # skipped

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/performance.md"

shown = PAGE.read_text(encoding="utf-8")
picture = PAGE.parent / re.search(r"!\[[^]]*\]\((\S+\.svg)\)", shown).group(1)
made = json.loads(picture.with_suffix(".json").read_text(encoding="utf-8"))
for file, drawn in ((PAGE, tables.page(made, PAGE, picture)), (picture, chart.chart(made))):
    if file.read_text(encoding="utf-8") != drawn:
        sys.exit(f"{file} is not what is drawn from {picture.stem}.json (docs/performance.md says how)")
