#!/usr/bin/env bash
# One case of the tests of what is installed: install_test.sh SOURCE BUILD CASE
#
# Each case works on BUILD/tests/install/prefix, which the case `prefix` fills.
set -euo pipefail
source_dir=$1
build=$2
case=$3
prefix=$build/tests/install/prefix
bin=$prefix/bin
lib=$(dirname "$(find "$prefix" -name libsglcoll.so 2>/dev/null | head -1)" 2>/dev/null || true)

# The programs must not need what the developer's shell has set.
unset LD_LIBRARY_PATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH

work=$build/tests/install/case_$case
rm -rf "$work"
mkdir -p "$work"
. "$source_dir/tests/support/shell.sh"

# says TEXT COMMAND...: the command succeeds and prints the text.
says() {
  expect_status 0 "${@:2}"
  grep -qF -- "$1" "$work/out" "$work/err" || fail "no '$1' in the output of: ${*:2}"
}

case_prefix() {
  rm -rf "$prefix"
  cmake --install "$build" --prefix "$prefix" >/dev/null
  for file in bin/sglrun bin/sglperf bin/sglcoll-info bin/sglcoll-plan bin/sglcoll-tune include/sglcoll/sglcoll.h \
      include/sglcoll/sglcoll.hpp include/sglcoll/mpi.h; do
    [ -f "$prefix/$file" ] || fail "$file is not installed"
  done
  [ -n "$(find "$prefix" -path '*/sglcoll/*verbs.so')" ] || fail "the verbs component is not installed"
}

case_headers() {
  local warnings=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only "-I$prefix/include") header
  cd "$prefix/include"
  for header in sglcoll/*; do
    # No guard or macro of another header may hide that one is missing.
    echo "#include <$header>" >"$work/alone.c"
    cp "$work/alone.c" "$work/alone.cpp"
    if [ "$header" = sglcoll/mpi.h ]; then
      mpi_header
      continue
    fi
    case $header in *.h) cc -std=c99 "${warnings[@]}" "$work/alone.c" || fail "$header in C99" ;; esac
    c++ -std=c++20 "${warnings[@]}" "$work/alone.cpp" || fail "$header in C++20"
  done
}
mpi_header() {
  local mpi found=0
  for mpi in openmpi mpich; do
    command -v "mpicc.$mpi" >/dev/null || continue
    found=1
    "mpicc.$mpi" -std=c99 "${warnings[@]}" "$work/alone.c" || fail "mpi.h in C99 with $mpi"
    # Without Open MPI's old C++ classes, which do not compile without warnings.
    "mpicxx.$mpi" -std=c++20 -DOMPI_SKIP_MPICXX "${warnings[@]}" "$work/alone.cpp" ||
      fail "mpi.h in C++20 with $mpi"
  done
  [ $found = 1 ] || skip "no mpicc.openmpi or mpicc.mpich to compile mpi.h"
}

# readme_example LANGUAGE: the first block of that language in the README.
readme_example() {
  awk -v fence="\`\`\`$1" '$0 == fence { inside = 1; next } /^```/ && inside { exit } inside' \
    "$source_dir/README.md"
}

case_find_package() {
  local language
  mkdir "$work/readme"
  for language in c cpp; do
    readme_example $language >"$work/readme/columns.$language"
    grep -q 'int main' "$work/readme/columns.$language" || fail "no $language example in the README"
  done
  cmake -S "$source_dir/tests/install/consumer" -B "$work" -G Ninja \
    -DREADME_EXAMPLES="$work/readme" -DCMAKE_PREFIX_PATH="$prefix" >"$work.log" || fail "configuring: $(tail -20 "$work.log")"
  cmake --build "$work" >"$work.log" || fail "building: $(tail -20 "$work.log")"
  says "2 ranks" "$bin/sglrun" -n 2 "$work/consumer_c"
  says "2 ranks" "$bin/sglrun" -n 2 "$work/consumer_cpp"
  for language in c cpp; do says "last row: 0 to 1" "$bin/sglrun" -n 2 "$work/columns_$language"; done
}

case_pkg_config() {
  local flags
  export PKG_CONFIG_PATH=$lib/pkgconfig
  [ "$(pkg-config --variable=includedir sglcoll)" -ef "$prefix/include" ] || fail "includedir is elsewhere"
  read -ra flags <<<"$(pkg-config --cflags --libs sglcoll)"
  cc -std=c99 "$source_dir/tests/install/consumer/consumer.c" "${flags[@]}" "-Wl,-rpath,$lib" -o "$work/consumer"
  says "2 ranks" "$bin/sglrun" -n 2 "$work/consumer"
}

case_moved_prefix() {
  cp -a "$prefix" "$work/moved"
  says "allgather" "$work/moved/bin/sglrun" -n 2 "$work/moved/bin/sglperf" allgather --bytes 4K
}

case_programs() {
  says "sglrun" "$bin/sglrun" --version
  says "allgather" "$bin/sglrun" -n 2 "$bin/sglperf" allgather --layout vector:64:128 --bytes 4K:64K
  says "SGLCOLL_ALGORITHM" "$bin/sglcoll-info" --settings
  "$bin/sglcoll-info" >/dev/null || fail "sglcoll-info"
}

case_no_build_tree() {
  local file name
  while IFS= read -r file; do
    for name in "$source_dir" "$build"; do
      ! grep -qF -- "$name/" < <(strings -a -n 4 "$file") || fail "$file names $name"
    done
  done < <(find "$prefix" -type f)
  grep -q 'R.*PATH.*$ORIGIN/../lib' < <(readelf -d "$bin/sglperf") || fail "sglperf looks for the library elsewhere"
}

case_symbols() {
  local exported odd
  exported=$(nm -D --defined-only "$lib/libsglcoll.so" | awk '{print $NF}')
  odd=$(grep -vE '^sglcoll_[a-z0-9_]+@@SGLCOLL_0$|^SGLCOLL_0(@@SGLCOLL_0)?$' <<<"$exported" || true)
  [ -z "$odd" ] || fail "exported: $odd"
  grep -qx 'sglcoll_init@@SGLCOLL_0' <<<"$exported" || fail "sglcoll_init is not exported"
  grep -q 'SONAME.*\[libsglcoll\.so\.0\]' < <(readelf -d "$lib/libsglcoll.so") ||
    fail "the SONAME is not libsglcoll.so.0"
}

# On a processor without AVX: the programs, the kernels' own tests, and ranks that
# reduce and gather with whatever kernels were chosen.
case_baseline_processor() {
  local emulator=(qemu-x86_64 -cpu Nehalem)
  [ "$(uname -m)" = x86_64 ] || skip "the emulated processor is an x86-64"
  command -v qemu-x86_64 >/dev/null || skip "qemu-x86_64 is not installed (package qemu-user)"
  # The emulator does refuse what the processor has not.
  echo 'int main(void) { __asm__ volatile("vpxor %ymm0, %ymm0, %ymm0"); return 0; }' >"$work/avx.c"
  cc "$work/avx.c" -o "$work/avx"
  ! "${emulator[@]}" "$work/avx" 2>/dev/null || fail "the emulated processor has AVX"

  says "sglrun" "${emulator[@]}" "$bin/sglrun" --version
  says "SGLCOLL_ALGORITHM" "${emulator[@]}" "$bin/sglcoll-info" --settings
  "${emulator[@]}" "$build/tests/op_test" >"$work.log" 2>&1 || fail "op_test: $(tail "$work.log")"
  "${emulator[@]}" "$build/tests/copy_kernels_test" >"$work.log" 2>&1 || fail "copy_kernels_test: $(tail "$work.log")"
  cc -std=c99 "$source_dir/tests/install/consumer/consumer.c" "-I$prefix/include" "-L$lib" -lsglcoll \
    "-Wl,-rpath,$lib" -o "$work/consumer"
  says "1 ranks" "${emulator[@]}" "$work/consumer"
  says "2 ranks" "$bin/sglrun" -n 2 "${emulator[@]}" "$work/consumer"
  says "allgather" "${emulator[@]}" "$bin/sglperf" allgather --bytes 4K
}

"case_$case"
