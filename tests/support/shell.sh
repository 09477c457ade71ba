# Expectations of tests that are shell scripts; sourced with $work set to a folder for the
# outputs, and $case to the case's name where there are several.
#
# A test fails at the first expectation that does not hold.

fail() {
  echo "$(basename "$0"): ${case+$case: }$*" >&2
  [ ! -s "$work/out" ] || sed 's/^/  out: /' "$work/out" | head -20 >&2
  [ ! -s "$work/err" ] || sed 's/^/  err: /' "$work/err" | head -20 >&2
  exit 1
}

# skip REASON: 77 is ctest's word for it; where the CI runs nothing may be missing.
skip() {
  [ -z "${CI-}${SGLCOLL_CI-}" ] || fail "$* (CI is set, so this is an error)"
  echo "$(basename "$0"): ${case+$case: }skipped: $*" >&2
  exit 77
}

# expect_status STATUS COMMAND ARGUMENT...: runs it, outputs in $work/out and $work/err.
expect_status() {
  local expected=$1 status=0
  shift
  "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
  [ "$status" = "$expected" ] || fail "status $status instead of $expected from: $*"
}
out_is() { [ "$(cat "$work/out")" = "$1" ] || fail "output is not '$1'"; }
sorted_out_is() { [ "$(sort "$work/out")" = "$1" ] || fail "sorted output is not '$1'"; }
err_has() { grep -Eq -- "$1" "$work/err" || fail "standard error has no '$1'"; }
err_is_empty() { [ ! -s "$work/err" ] || fail "standard error is not empty"; }

# Repeats a check for up to $patience seconds, or 15.
eventually() {
  local tries
  for tries in $(seq $((10 * ${patience:-15}))); do
    "$@" && return
    sleep 0.1
  done
  return 1
}
