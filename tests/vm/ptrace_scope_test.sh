#!/usr/bin/env bash
# ptrace_scope_test.sh SGLRUN SGLPERF: on a kernel with Yama, as a user without privileges,
# ranks that may not read each other's memory take another path, and say so when told to read.
set -u
sglrun=$1 sglperf=$2
scope=/proc/sys/kernel/yama/ptrace_scope
work=$(mktemp -d "${TMPDIR:-/tmp}/ptrace-scope.XXXXXX")
trap 'rm -rf "$work"; echo 0 >"$scope"' EXIT
. "$(dirname "$(readlink -f "$0")")/../support/shell.sh"

# Two megabytes a rank are read where that is allowed.
allgather() {
  setpriv --reuid 65534 --regid 65534 --clear-groups env SGLCOLL_SHM_PATH="$1" \
    "$sglrun" -n 2 "$sglperf" allgather --bytes 2M:2M --explain
}
reads_are() { grep -Eq "work_requests +$1\." "$work/out" || fail "not $1 reads a call"; }

[ -f "$scope" ] || fail "this kernel has no Yama"
echo 0 >"$scope"
expect_status 0 allgather auto
reads_are '[1-9][0-9]*'
echo 1 >"$scope"
expect_status 0 allgather auto
reads_are 0
expect_status 2 allgather cma
err_has "kernel.yama.ptrace_scope=0"
