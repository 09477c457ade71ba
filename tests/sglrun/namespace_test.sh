#!/usr/bin/env bash
# One case of the tests of sglrun over hosts that are network namespaces of this machine, with
# a cable each to that of sglrun: namespace_test.sh SGLRUN EXCHANGE_PROGRAM LIBRARY_PROGRAM CASE
#
# To the library they are different nodes, between which there is no RDMA device.
set -u
sglrun=$1
exchange_program=$2
library_program=$3
case=$4
here=$(dirname "$(readlink -f "$0")")
. "$here/support.sh"

prefix=sglrun-$$
tear_down() {
  kill ${sshd-} 2>/dev/null
  leftovers | xargs -r kill -KILL 2>/dev/null
  local name
  for name in 0 h1 h2; do ip netns del "$prefix-$name" 2>/dev/null; done
  rm -rf "$work"
}
trap tear_down EXIT
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
ip netns add "$prefix-0" 2>"$work/err" || skip "no network namespace: $(cat "$work/err")"
ip -n "$prefix-0" link set lo up
for i in 1 2; do
  ip netns add "$prefix-h$i" || skip "no network namespace"
  ip -n "$prefix-0" link add "cable$i" type veth peer name eth0 netns "$prefix-h$i" ||
    skip "no virtual cable"
  ip -n "$prefix-0" addr add "10.77.$i.1/24" dev "cable$i"
  ip -n "$prefix-0" link set "cable$i" up
  ip -n "$prefix-h$i" addr add "10.77.$i.2/24" dev eth0
  ip -n "$prefix-h$i" link set lo up
  ip -n "$prefix-h$i" link set eth0 up
done

FAKE_PYTHON=$(python3 -c 'import sys; print(sys.executable)')  # what a wrapper would start
# The command goes by a socket of the file system, which no cable is needed for.
cat >"$work/agent" <<END
#!/bin/sh
host=\$1
shift
exec "$FAKE_PYTHON" -S -E "$here/fake_sshd.py" run "$work/sshd" "\$host" ip netns exec "$prefix-\$host" "\$@"
END
chmod +x "$work/agent"
env -i PATH="$PATH" HOME=/ TMPDIR="$TMPDIR" SGLRUN_TEST_MARK="$work" \
  "$FAKE_PYTHON" -S "$here/fake_sshd.py" serve "$work/sshd" &
sshd=$!
until [ -S "$work/sshd" ]; do kill -0 $sshd || fail "no hosts"; sleep 0.02; done

# sglrun itself in its namespace, as support.sh calls it.
cat >"$work/sglrun" <<END
#!/bin/sh
exec ip netns exec "$prefix-0" "$sglrun" --launch-agent "$work/agent" "\$@"
END
chmod +x "$work/sglrun"
sglrun=$work/sglrun

case_start() {
  run 0 --host h1:2,h2:1 sh -c 'echo $PMIX_RANK $HOSTNAME $(ip -o -4 addr show dev eth0 | grep -o "10\.77\.[0-9]")'
  sorted_out_is $'0 h1 10.77.1\n1 h1 10.77.1\n2 h2 10.77.2'
  run 0 --host h1:2,h2:2 "$exchange_program" h1 h1 h2 h2
}
case_lost_network() {
  start --host-timeout 5 --host h1:1,h2:1 sh -c 'echo ready; exec sleep 100'
  all_ready 2
  SECONDS=0
  ip -n "$prefix-0" link set cable2 down
  ends_with 1
  err_has 'host h2: the connection to its daemon was lost: .*; ending the job'
  [ $SECONDS -le 20 ] || fail "took $SECONDS s"
  none_running() { [ -z "$(leftovers | xargs -r ps -o args= -p | grep '^sleep 100')" ]; }
  eventually none_running || fail "a rank outlives the network to its host"
}
case_no_way_back() {
  SECONDS=0
  ip -n "$prefix-0" link set cable2 down
  run 1 --host-timeout 2 --host h1:1,h2:1 sh -c 'echo ran'
  err_has 'host h2: '
  err_has 'can connect to port [0-9]+ of this machine'
  out_is ''
  [ $SECONDS -le 20 ] || fail "took $SECONDS s"
}
# Several nodes without a device: the library says what it looked at, and nobody waits.
case_no_device() {
  SECONDS=0
  "$sglrun" --host h1:1,h2:1 --on-failure=continue "$library_program" >"$work/out" 2>"$work/err" </dev/null &&
    fail "it ran without a device"
  [ "$(cat "$work/out" "$work/err" | grep -c 'no RDMA device can be used: .')" -ge 2 ] ||
    fail "not both ranks say which devices they looked at"
  [ $SECONDS -le 20 ] || fail "took $SECONDS s"
}

run_case
