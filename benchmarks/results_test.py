# SPDX-License-Identifier: Apache-2.0
"""The pages of results and their pictures are what bench.py draws from the numbers beside the pictures."""
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

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
pages = [page for page in sorted(DOCS.glob("*.md")) if tables.BEGIN in page.read_text(encoding="utf-8")]

if not pages:
    sys.exit(f"no page in {DOCS} has tables of results")
for page in pages:
    shown = page.read_text(encoding="utf-8")
    picture = DOCS / re.search(r"!\[[^]]*\]\((\S+\.svg)\)", shown).group(1)
    made = json.loads(picture.with_suffix(".json").read_text(encoding="utf-8"))
    for file, drawn in ((page, tables.page(made, page, picture)), (picture, chart.chart(made))):
        if file.read_text(encoding="utf-8") != drawn:
            sys.exit(f"{file} is not what is drawn from {picture.stem}.json (docs/performance.md says how)")
