#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The library as its users see it: the exported symbols and the binary interface against what is
# committed here, and its size.
#   abi.sh symbols LIBRARY           only mt_*, and exactly those of symbols.txt
#   abi.sh declared LIBRARY HEADERS  exported is what the public headers declare, and nothing else
#   abi.sh diff LIBRARY HEADERS      abidiff against baseline.abi; LIBRARY has debug information
#   abi.sh size LIBRARY BYTES        stripped, as it is installed, it has less
#   abi.sh update LIBRARY HEADERS VERSION
#                                    writes both anew; new symbols get this version
set -eu
here=$(dirname "$0")
library=$2

exported() {
  nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort
}
# symbols.txt: a symbol and the version that brought it, on each line.
committed() {
  grep -v '^#' "$here/symbols.txt" | awk '{ print $1 }' | sort
}

case $1 in
  symbols)
    exported > /dev/null
    if exported | grep -v '^mt_'; then
      echo "exported, but not mt_*" >&2
      exit 1
    fi
    temporary=$(mktemp)
    trap 'rm -f "$temporary"' EXIT
    exported > "$temporary"
    committed | diff - "$temporary" || {
      echo "the exported symbols differ from tests/abi/symbols.txt; see ./dev abi" >&2
      exit 1
    }
    echo "$(wc -l < "$temporary") symbols as committed"
    ;;
  declared)
    temporary=$(mktemp)
    trap 'rm -f "$temporary"' EXIT
    sed -e 's://.*::' -e '/^#/d' "$3"/*.h | tr '\n' ' ' | grep -o 'MT_API [^;(]*(' |
      sed 's/.*[ *]\(mt_[a-z0-9_]*\)($/\1/' | sort > "$temporary"
    exported | diff "$temporary" - || {
      echo "< declared, but not defined; > exported, but not declared" >&2
      exit 1
    }
    echo "$(wc -l < "$temporary") functions declared and exported"
    ;;
  diff)
    abidiff --headers-dir2 "$3" --drop-private-types "$here/baseline.abi" "$library"
    ;;
  size)
    temporary=$(mktemp)
    trap 'rm -f "$temporary"' EXIT
    strip -o "$temporary" "$library"
    bytes=$(wc -c < "$temporary")
    echo "$bytes bytes of at most $3"
    if [ "$bytes" -gt "$3" ]; then
      echo "too large: nm -C -S --size-sort $library shows what is; see seldom_sources" >&2
      exit 1
    fi
    ;;
  update)
    version=$4
    temporary=$(mktemp)
    trap 'rm -f "$temporary"' EXIT
    [ -e "$here/symbols.txt" ] || : > "$here/symbols.txt"
    {
      echo "# SPDX-License-Identifier: Apache-2.0"
      echo "# Every exported symbol and the version since when. Written by ./dev abi."
      exported | while read -r symbol; do
        grep "^$symbol " "$here/symbols.txt" || echo "$symbol $version"
      done
    } > "$temporary"
    cat "$temporary" > "$here/symbols.txt"
    abidw --headers-dir "$3" --drop-private-types --exported-interfaces-only --no-corpus-path \
      --no-comp-dir-path --no-show-locs --no-elf-needed "$library" > "$here/baseline.abi"
    ;;
esac
