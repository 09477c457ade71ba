#!/usr/bin/env bash
# On the first of several nodes: each node, itself too, can be reached by ssh without a
# question, from the others as well; a status, output and standard input pass through.
set -euo pipefail
fail() {
  echo "ssh_test: $*" >&2
  exit 1
}
for node in $(seq "$SGLCOLL_VM_NODES"); do
  got=$(ssh "n$node" hostname)
  [ "$got" = "n$node" ] || fail "n$node calls itself '$got'"
done
got=$(ssh n2 ssh n3 hostname)
[ "$got" = n3 ] || fail "from n2, n3 calls itself '$got'"
[ "$(echo over | ssh 10.9.1.2 cat)" = over ] || fail "standard input did not arrive at 10.9.1.2"
ssh n2 exit 23 && status=0 || status=$?
[ "$status" = 23 ] || fail "status $status instead of 23"
[ "$(ssh n2 ulimit -l)" = unlimited ] || fail "locked memory is limited under ssh"
