#!/usr/bin/env bash
# The examples, on small inputs: examples_test.sh SGLRUN FOLDER_OF_EXAMPLES
set -u
sglrun=$1
bin=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/examples-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../support/shell.sh"

# right COUNT RANKS EXAMPLE [ARGUMENT...]: so many results are printed, all right.
right() {
  expect_status 0 "$sglrun" -n "$2" "$bin/$3" "${@:4}"
  [ "$(grep -Ec '(: |  )right$' "$work/out")" = "$1" ] || fail "not $1 right results of: ${*:3}"
}
# refused TEXT EXAMPLE ARGUMENT...: the text is told once, whatever the number of ranks.
refused() {
  expect_status 2 "$sglrun" -q -n 3 "$bin/$2" "${@:3}"
  [ "$(grep -c -- "$1" "$work/err")" = 1 ] || fail "'$1' is not told once by: ${*:2}"
}

printf '# a comment\nweight 64 3 7\nbias 64\n' >"$work/tensors"
printf 'weight 64 x 7\n' >"$work/no_tensors"
for ranks in 1 3; do
  right 1 $ranks allgather_columns --rows 10
  right 1 $ranks tile_matmul 48
  right 3 $ranks tensor_bucket "$work/tensors"
done
for example in allgather_columns tile_matmul tensor_bucket; do
  expect_status 0 "$sglrun" -n 2 "$bin/$example" --help
  [ "$(grep -c '^Usage: ' "$work/out")" = 1 ] || fail "--help of $example has not one usage line"
done
refused 'not expected: --no-such-option' allgather_columns --no-such-option
refused 'not expected: --no-such-option' tile_matmul --no-such-option
refused 'not expected: --no-such-option' tensor_bucket --no-such-option "$work/tensors"
refused 'not in range' allgather_columns --rows 0
refused '64 is no multiple of the 3 ranks' tile_matmul 64
refused 'FILE is required' tensor_bucket
refused 'File does not exist' tensor_bucket "$work/none"
refused '"weight 64 x 7" is not NAME DIM' tensor_bucket "$work/no_tensors"
refused 'has no line NAME DIM' tensor_bucket /dev/null
