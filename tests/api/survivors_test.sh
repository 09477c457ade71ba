#!/usr/bin/env bash
# survivors_test.sh SGLRUN PROGRAM: a rank of four is killed and the job goes on; every
# survivor is told, ends well, and nothing is left.
set -u
sglrun=$1
program=$2
out=$(mktemp)
mark=SGLCOLL_TEST_MARK_$$
trap 'rm -f "$out"' EXIT
shm_before=$(ls /dev/shm)

env "TEST_MARK=$mark" timeout 30 "$sglrun" -n 4 --on-failure=continue "$program" >"$out"
status=$?
expected="rank 0: a peer failed, rank 2 is named
rank 1: a peer failed, rank 2 is named
rank 3: a peer failed, rank 2 is named"
failed=0
[ "$(sort "$out")" = "$expected" ] || { echo "the survivors said:"; sort "$out"; failed=1; }
[ "$status" = 137 ] || { echo "status $status of sglrun, not 137 (SIGKILL of rank 2)"; failed=1; }
left=$(grep -slz "^TEST_MARK=$mark" /proc/[0-9]*/environ)
[ -z "$left" ] || { echo "processes are left: $left"; failed=1; }
[ "$(ls /dev/shm)" = "$shm_before" ] || { echo "/dev/shm changed"; failed=1; }

# A rank that ends well and never came is missed as well.
said=$(timeout 20 "$sglrun" -n 3 --on-failure=continue \
  sh -c '[ "$PMIX_RANK" = 1 ] || exec "$0"' "$program" 2>&1)
[ "$(grep -c 'rank 1 died before all ranks had met' <<<"$said")" = 2 ] ||
  { echo "of a rank that never came the others said: $said"; failed=1; }
exit $failed
