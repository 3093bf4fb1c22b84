#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone, as C99 -pedantic, C11 and C++ (those for C++ as C++20), and so do the programs here, which
# hold the constants: run.sh INCLUDE, with the compilers in CC and CXX.
set -eu
here=$(dirname "$0") include=$1
strict='-pedantic-errors -Wall -Wextra -Werror -fsyntax-only'
status=0

check() { # check WHAT COMPILER... reads the program from standard input
  what=$1
  shift
  # shellcheck disable=SC2086
  "$@" -I "$include" -I "$here" $strict - || {
    echo "$what fails as: $*" >&2
    status=1
  }
}

check_all() { # check_all NAME C_SOURCE CXX_SOURCE
  # CC and CXX may hold a command with arguments, such as "ccache gcc".
  for standard in c99 c11; do
    # shellcheck disable=SC2086
    check "$1" $CC -x c -std=$standard < "$2"
  done
  for standard in c++11 c++20; do
    # shellcheck disable=SC2086
    check "$1" $CXX -x c++ -std=$standard < "$3"
  done
}

one=$(mktemp)
trap 'rm -f "$one"' EXIT
count=0
for header in "$include"/mtorch/*.h; do
  name=mtorch/$(basename "$header")
  echo "#include <$name>" > "$one"
  # A translation unit must declare something; including twice must be harmless.
  echo "#include <$name>
extern int unused;" >> "$one"
  check_all "$name" "$one" "$one"
  count=$((count + 1))
done
# The C++ headers: each alone, and all together by each compiler that is there.
for header in "$include"/mtorch/*.hpp; do
  name=mtorch/$(basename "$header")
  printf '#include <%s>\n#include <%s>\nextern int unused;\n' "$name" "$name" > "$one"
  # shellcheck disable=SC2086
  check "$name" $CXX -x c++ -std=c++20 < "$one"
  count=$((count + 1))
done
echo "#include <mtorch/mtorch.hpp>
extern int unused;" > "$one"
for compiler in g++ clang++; do
  ! command -v $compiler > /dev/null || check mtorch.hpp $compiler -x c++ -std=c++20 < "$one"
done
check_all constants "$here/c99.c" "$here/cxx.cpp"
echo "$count headers"
exit $status
