#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs a small program against the installed tree as users do: run.sh KIND SOURCE BUILD
# with KIND meson, cmake, static or subproject.
set -eu
kind=$1 source=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/consumer"
cp "$source/tests/consumer/main.c" "$work/consumer"
cd "$work/consumer"

if [ "$kind" = subproject ]; then
  cp "$source/tests/consumer/meson/meson.build" .
  mkdir subprojects
  ln -s "$source" subprojects/mtorch
  meson setup --wrap-mode=forcefallback build
  ninja -C build
  [ -e build/subprojects/mtorch/src/libmtorch.so.0 ]
  build/consumer
  exit
fi

DESTDIR="$work/stage" meson install -C "$build" --no-rebuild --quiet
pc=$(find "$work/stage" -name mtorch.pc)
lib=$(dirname "$(dirname "$pc")")
# A staged tree lies elsewhere than its .pc file says; on the target machine it will not.
sed -i "s|^prefix=|&$work/stage|" "$pc"
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH LD_LIBRARY_PATH="$lib"

# What an installed tree must hold: every public header, both libraries, the soname link.
for header in "$source"/include/mtorch/*.h; do
  [ -e "$(pkg-config --variable=includedir mtorch)/mtorch/$(basename "$header")" ]
done
[ -e "$lib/libmtorch.a" ] && [ -L "$lib/libmtorch.so" ] && [ -e "$lib/libmtorch.so.0" ]

case $kind in
  meson)
    cp "$source/tests/consumer/meson/meson.build" .
    meson setup --wrap-mode=nofallback build
    meson test -C build --print-errorlogs
    ldd build/consumer | grep "$lib/libmtorch.so.0"
    ;;
  cmake)
    cp "$source/tests/consumer/cmake/CMakeLists.txt" .
    cmake -S . -B build
    cmake --build build
    build/consumer
    ldd build/consumer | grep "$lib/libmtorch.so.0"
    ;;
  static)
    cp "$source/tests/consumer/static/Makefile" .
    make
    ./consumer
    if ldd consumer | grep libmtorch; then exit 1; fi
    ;;
esac
