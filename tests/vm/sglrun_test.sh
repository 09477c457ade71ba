#!/usr/bin/env bash
# On the first of several nodes: sglrun_test.sh SGLRUN EXCHANGE_PROGRAM SGLCOLL_INFO, jobs on
# this and the other nodes by ssh.
set -uo pipefail
sglrun=$1
exchange_program=$2
info=$3
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
run 7 "$sglrun" --host n2:1,n3:1 sh -c '[ $PMIX_RANK != 1 ] || exit 7; exec sleep 100'
grep -q 'rank 1 on host n3 .* ended with status 7; ending the job' /tmp/err || fail "the failed rank is not named"
[ "$(seq 20000 | "$sglrun" --host n2:1 cat | cksum)" = "$(seq 20000 | cksum)" ] ||
  fail "standard input did not go there and back"
run 1 "$sglrun" --host n1:1,nowhere:1 true
grep -q 'host nowhere: ssh ended with status 255 .*check that `ssh ' /tmp/err || fail "no advice for a host that is not there"
run 1 "$sglrun" --host n2:1 --remote-program /nowhere/sglrun true
grep -q 'host n2: .*is sglrun installed there at /nowhere/sglrun? (--remote-program)' /tmp/err ||
  fail "no advice where sglrun is missing"

# The network to a node goes: its daemon and sglrun both notice.
"$sglrun" --host n1:1,n3:1 --host-timeout 15 sh -c 'echo ready; exec sleep 250' >/tmp/out 2>/tmp/err </dev/null &
job=$!
until [ "$(grep -c ready /tmp/out)" = 2 ]; do kill -0 $job || fail "it did not start"; sleep 0.2; done
# ssh, whose own connection this cuts, could not bring it back.
ssh n3 'nohup sh -c "ip link set eth0 down; sleep 40; ip link set eth0 up" >/dev/null 2>&1 &'
SECONDS=0
wait $job && fail "the job outlived the network to one of its hosts"
[ $SECONDS -le 35 ] || fail "it took $SECONDS s"
grep -q 'host n3: the connection to its daemon was lost: ' /tmp/err || fail "the lost host is not named"
until ssh -o ConnectTimeout=2 n3 true 2>/dev/null; do [ $SECONDS -le 90 ] || fail "n3 does not come back"; sleep 1; done

for node in n2 n3; do
  left=$(ssh $node 'pgrep -af "sleep 250|--daemon"; ls -d /tmp/sglrun.* /dev/shm/*sglcoll* 2>/dev/null')
  [ -z "$left" ] || fail "left on $node: $left"
done

run 0 "$info" --check --hosts n1,n2,n3
grep -q '^Host n3: works' /tmp/out || fail "no report of n3"
run 1 "$info" --check --hosts n2,nowhere
grep -q 'remedy' /tmp/out || fail "no remedy for a host that is not there"
