#!/usr/bin/env bash
# On the first of several nodes: sweep_hosts_test.sh SGE_SWEEP, with its passive side
# on the second node, which must end with it.
set -euo pipefail
sweep=$1
ssh n2 "$sweep" --server --blocks 256 2>"$SGLCOLL_VM_OUT/server" &
server=$!
until grep -q waiting "$SGLCOLL_VM_OUT/server"; do
  kill -0 $server || { cat "$SGLCOLL_VM_OUT/server" >&2; exit 1; }
  sleep 0.2
done
"$sweep" --connect n2 --quick --no-sweep --rounds 1 --blocks 256 --json "$SGLCOLL_VM_OUT/results.json"
wait $server
