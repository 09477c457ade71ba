#!/usr/bin/env bash
# On the first of several nodes: sglrun_test.sh SGLRUN EXCHANGE_PROGRAM, jobs on this and the
# other nodes by ssh.
set -uo pipefail
sglrun=$1
exchange_program=$2
fail() {
  echo "sglrun_test: $*" >&2
  [ ! -s /tmp/out ] || sed 's/^/  out: /' /tmp/out >&2
  [ ! -s /tmp/err ] || sed 's/^/  err: /' /tmp/err >&2
  exit 1
}
run() {
  local expected=$1 status
  shift
  "$@" >/tmp/out 2>/tmp/err </dev/null
  status=$?
  [ "$status" = "$expected" ] || fail "status $status instead of $expected from: $*"
}

run 0 "$sglrun" --host n1:2,n2:2,n3:2 sh -c 'echo $PMIX_RANK $(hostname) $PWD'
[ "$(sort /tmp/out)" = "$(printf '%s\n' "0 n1 $PWD" "1 n1 $PWD" "2 n2 $PWD" "3 n2 $PWD" "4 n3 $PWD" "5 n3 $PWD")" ] ||
  fail "the ranks are not where they should be"
run 0 "$sglrun" --host n1:2,n2:2,n3:2 --map-by node "$exchange_program" n1 n2 n3 n1 n2 n3
