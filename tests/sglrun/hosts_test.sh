#!/usr/bin/env bash
# One case of the tests of sglrun over several hosts, all of them this machine, behind
# fake_agent.sh:
# hosts_test.sh SGLRUN RANK_PROGRAM ABORT_PROGRAM EXCHANGE_PROGRAM LIBRARY_PROGRAM CASE
set -u
sglrun=$1
rank_program=$2
abort_program=$3
exchange_program=$4
library_program=$5
case=$6
agent=$(dirname "$(readlink -f "$0")")/fake_agent.sh
. "$(dirname "$0")/support.sh"

# The hosts, with the environment of a login.
export FAKE_SSHD=$work/sshd
FAKE_PYTHON=$(python3 -c 'import sys; print(sys.executable)')  # what a wrapper would start
export FAKE_PYTHON
env -i PATH="$PATH" HOME=/ TMPDIR="$TMPDIR" SGLRUN_TEST_MARK="$work" \
  "$FAKE_PYTHON" -S "$(dirname "$agent")/fake_sshd.py" serve "$FAKE_SSHD" &
sshd=$!
until [ -S "$FAKE_SSHD" ]; do kill -0 $sshd || fail "no hosts"; sleep 0.02; done

over() { # over EXPECTED_STATUS HOSTS ARGUMENT...
  local expected=$1 hosts=$2
  shift 2
  run "$expected" --launch-agent "$agent" --host "$hosts" "$@"
}
start_over() {
  local hosts=$1
  shift
  start --launch-agent "$agent" --host "$hosts" "$@"
}
# The supervisor or worker process of the daemon of a host.
daemon_of() {
  local supervisor
  supervisor=$(pgrep -fx "$sglrun --daemon" | while read -r pid; do
    ! grep -qzx "HOSTNAME=$1" "/proc/$pid/environ" || ! grep -qzx "SGLRUN_TEST_MARK=$work" "/proc/$pid/environ" || echo "$pid"
  done | head -1)
  [ -n "$supervisor" ] || return
  if [ "$2" = worker ]; then pgrep -P "$supervisor" -fx "$sglrun --daemon"; else echo "$supervisor"; fi
}

case_ranks() {
  over 0 a:2,b:1 sh -c 'echo $PMIX_RANK $HOSTNAME $PMIX_HOSTNAME'
  sorted_out_is $'0 a a\n1 a a\n2 b b'
  err_is_empty
  over 0 a:2,b:2 --map-by node sh -c 'echo $PMIX_RANK $HOSTNAME'
  sorted_out_is $'0 a\n1 b\n2 a\n3 b'
  over 0 a:2,b:2 -n 1 sh -c 'echo $PMIX_RANK $HOSTNAME'
  out_is '0 a'
  printf 'a slots=1\nunreachable slots=3 # has no ranks\n' >"$work/hosts"
  run 0 --launch-agent "$agent" --hostfile "$work/hosts" -n 1 sh -c 'echo $HOSTNAME'
  out_is a
}
case_with_this_machine() {
  over 0 "a:1,$(hostname):1,b:1" sh -c 'echo $PMIX_RANK $PMIX_HOSTNAME'
  sorted_out_is "$(printf '0 a\n1 %s\n2 b' "$(hostname)")"
  over 0 "a:2,$(hostname):2" "$rank_program" meet
}
case_allocation() {
  export SLURM_JOB_NODELIST='a[1-2],b' SLURM_TASKS_PER_NODE='2(x2),1'
  run 0 --launch-agent "$agent" sh -c 'echo $PMIX_RANK $PMIX_HOSTNAME'
  sorted_out_is $'0 a1\n1 a1\n2 a2\n3 a2\n4 b'
  run 2 --launch-agent "$agent" -n 6 true
  err_has '-n 6: the 3 hosts have 5 slots'
  over 0 c:1 sh -c 'echo $PMIX_HOSTNAME'; out_is c
  SLURM_TASKS_PER_NODE=many run 2 true
  err_has "SLURM_TASKS_PER_NODE: 'many'.*--host"
}
case_meet() {
  over 0 a:1,b:1 "$rank_program" meet
  over 0 a:2,b:2 "$rank_program" meet
  over 0 a:1,b:2,c:1 --map-by node "$rank_program" meet-again
  over 0 a:2,b:1 "$rank_program" unequal
}
# To the library such hosts are one node: what it looks at is the machine (docs/launcher.md).
case_collectives() {
  over 0 a:2,b:2 "$library_program"
}
case_lost_rank() {
  local scenario
  for scenario in killed killed-in-allgather; do
    over 137 a:2,b:1 --on-failure=continue "$rank_program" $scenario
    err_has 'rank 2 on host b'
    ! grep -q rank_program: "$work/err" || fail "a survivor was not content"
  done
  over 9 a:1,b:2 --on-failure=continue "$rank_program" failed
  ! grep -q rank_program: "$work/err" || fail "a survivor was not content"
  over 0 a:1,b:2 --on-failure=continue "$rank_program" left
}
case_exchange() {
  over 0 a:2,b:2 "$exchange_program" a a b b
  over 0 a:2,b:1 --map-by node "$exchange_program" a b a
  run 0 -n 3 "$exchange_program" "$(hostname)" "$(hostname)" "$(hostname)"
}
case_environment() {
  export FROM_OUTSIDE=seen
  over 0 a -x A=1 -x A='x y=z' sh -c 'echo "$A,$FROM_OUTSIDE,$HOSTNAME"'
  out_is 'x y=z,seen,a'
  (cd "$work/tmp" && over 0 a pwd) || exit 1
  out_is "$work/tmp"
  over 0 a --wdir "$work" pwd
  out_is "$work"
}
case_output() {
  over 0 a:2,b:2 --tag-output sh -c 'echo o$PMIX_RANK; echo e$PMIX_RANK >&2'
  sorted_out_is $'[0:out] o0\n[1:out] o1\n[2:out] o2\n[3:out] o3'
  [ "$(sort "$work/err")" = $'[0:err] e0\n[1:err] e1\n[2:err] e2\n[3:err] e3' ] || fail 'wrong tags on standard error'
  over 0 a:1,b:1 --output-filename "$work/log" sh -c 'echo o$PMIX_RANK; echo e$PMIX_RANK >&2'
  out_is ''
  [ "$(cat "$work/log.0")" = $'o0\ne0' ] || fail 'wrong file of rank 0'
  [ "$(cat "$work/log.1")" = $'o1\ne1' ] || fail 'wrong file of rank 1'
  "$sglrun" --launch-agent "$agent" --host a:2,b:2 sh -c 'for i in $(seq 20); do
      printf "a$PMIX_RANK"; printf "d$PMIX_RANK" >&2; sleep 0.01
      printf "b$PMIX_RANK"; printf "e$PMIX_RANK\n" >&2; printf "c$PMIX_RANK\n"
    done' >"$work/out" 2>&1
  [ "$(wc -l <"$work/out")" = 160 ] || fail 'lines were lost'
  ! grep -Evq '^(a([0-3])b\2c\2|d([0-3])e\3)$' "$work/out" || fail 'lines were mixed'
}
case_big_output() {
  seq 6000000 >"$work/big"
  "$sglrun" --launch-agent "$agent" --host a cat "$work/big" >"$work/out2" || fail 'a rank failed'
  cmp "$work/big" "$work/out2" || fail 'much output to a file came out different'
  "$sglrun" --launch-agent "$agent" --host a cat "$work/big" | { sleep 0.5; cmp - "$work/big"; } ||
    fail 'much output to a slow pipe came out different'
}
case_closed_reader() {
  "$sglrun" --launch-agent "$agent" --host a:1,b:1 yes 2>"$work/err" | head -1 >"$work/out"
  [ "${PIPESTATUS[0]}" = 141 ] || fail 'no SIGPIPE where the reader left'
  out_is y
}
# The reader of the output stops for longer than a host may be silent.
case_stuck_reader() {
  "$sglrun" --launch-agent "$agent" --host-timeout 3 --host a:2 sh -c 'seq 300000' 2>"$work/err" |
    { sleep 7; cat; } >"$work/out"
  [ "$(wc -l <"$work/out")" = 600000 ] || fail 'lines were lost'
  err_is_empty
}
case_stdin() {
  seq 300000 >"$work/in"
  cat "$work/in" | "$sglrun" --launch-agent "$agent" --host a:1,b:1 cat >"$work/out" || fail 'a rank failed'
  cmp "$work/in" "$work/out" || fail 'rank 0 did not read what came by a pipe'
  "$sglrun" --launch-agent "$agent" --host a:1,b:1 cat <"$work/in" >"$work/out" || fail 'a rank failed'
  cmp "$work/in" "$work/out" || fail 'rank 0 did not read the file'
  # Who does not read does not hold up the job.
  yes | "$sglrun" --launch-agent "$agent" --host a:1,b:1 true || fail 'it failed where nobody reads'
}
case_status() {
  over 7 a:1,b:1 sh -c '[ $PMIX_RANK != 1 ] || exit 7; exec sleep 100'
  err_has 'rank 1 on host b \(pid [0-9]+\) ended with status 7; ending the job'
  over 139 a:1,b:1 sh -c '[ $PMIX_RANK != 1 ] || kill -SEGV $$; exec sleep 100'
  err_has 'rank 1 on host b \(pid [0-9]+\) was killed by signal 11'
  over 5 a:1,b:2 "$abort_program"
  err_has 'rank 1 on host b \(pid [0-9]+\) aborted the job with status 5: out of beans'
  over 127 a:1,b:1 no-such-program; err_has "host a: cannot start 'no-such-program': No such file"
  over 126 a:1,b:1 "$work"; err_has 'Permission denied'
}
case_continue() {
  over 9 a:1,b:2 --on-failure=continue sh -c \
    '[ $PMIX_RANK != 0 ] || exit 9; sleep 0.5; [ $PMIX_RANK != 1 ] || exit 8; echo went on'
  out_is 'went on'
  err_has 'status 9; the others go on'
}
case_timeout() {
  SECONDS=0
  over 124 a:1,b:1 --timeout 0.7 sh -c 'trap "" TERM INT; while :; do sleep 1; done'
  err_has 'longer than --timeout 0.7 s'
  over 124 silent,b --timeout 0.5 true
  [ $SECONDS -le 8 ] || fail "took $SECONDS s"
}
case_signals() {
  local signal
  for signal in USR1 INT; do
    start_over a:1,b:1 sh -c "trap 'echo got; exit 0' $signal; echo ready; while :; do sleep 0.05; done"
    all_ready 2
    kill -$signal $job
    ends_with 0
    sorted_out_is $'got\ngot\nready\nready'
  done
  start_over a:1,b:1 sh -c "trap '' INT TERM; echo ready; while :; do sleep 0.05; done"
  all_ready 2
  kill -INT $job
  sleep 0.3
  kill -0 $job || fail 'one interrupt ended ranks that ignore it'
  kill -INT $job
  ends_with 130
  err_has 'interrupted twice'
}
case_interrupted_start() {
  start_over silent,b true
  sleep 0.5
  kill -INT $job
  ends_with 130
}
case_grandchildren() {
  over 0 a:1,b:1 sh -c 'sleep 100 & setsid sleep 100 & (setsid sh -c "sleep 100 & sleep 100" &) ; exit 0'
}
case_unreachable() {
  SECONDS=0
  over 1 a,unreachable2 sh -c 'echo ran'
  err_has 'host unreachable2: .*fake_agent.sh ended with status 255 .*No route to host.*check that `.*fake_agent.sh unreachable2 true` works'
  out_is ''
  over 1 a,absent1 true
  err_has 'host absent1: .*status 127.*--remote-program'
  run 1 --launch-agent /nonexistent/agent --host a true
  err_has "host a: cannot start '/nonexistent/agent'.*--launch-agent"
  [ $SECONDS -le 30 ] || fail "took $SECONDS s"
}
case_silent() {
  SECONDS=0
  over 1 a,silent1 --host-timeout 1 sh -c 'echo ran'
  err_has 'host silent1: no daemon came from there in 1 s \(--host-timeout\).*can connect to port [0-9]+'
  out_is ''
  # A firewall in the way back: the daemon has nowhere to go.
  over 1 a,cut1 --host-timeout 1 true
  err_has 'host cut1: '
  [ $SECONDS -le 10 ] || fail "took $SECONDS s"
}
case_wrong_secret() {
  SECONDS=0
  over 1 a,liar1 --host-timeout 5 sh -c 'echo ran'
  err_has 'host liar1: .*it does not know the secret of this job'
  out_is ''
  over 1 a,old1 true
  err_has 'host old1: .*this host has sglrun 0.* install one version on all hosts'
  over 1 a,nonsense1 true
  err_has "host nonsense1: .*--daemon is for sglrun's own use"
  [ $SECONDS -le 45 ] || fail "took $SECONDS s"
}
# The secret is in no command line, environment or file that another could read.
case_secret_is_hidden() {
  start_over a:1 sh -c 'echo ready; exec sleep 100'
  all_ready 1
  local pid
  for pid in $(leftovers) $job $(worker_of); do
    ! tr '\0' '\n' <"/proc/$pid/cmdline" | grep -Eq '[0-9a-f]{64}' || fail "a command line has the secret"
    ! tr '\0' '\n' <"/proc/$pid/environ" | grep -Eq '[0-9a-f]{64}' || fail "an environment has the secret"
  done
  ! grep -rEq '[0-9a-f]{64}' "$work/tmp" || fail "a file has the secret"
  [ -z "$(find "$work/tmp" -maxdepth 1 -mindepth 1 ! -perm 700)" ] || fail "a scratch directory is not private"
  kill -TERM $job
  ends_with 143
}
case_daemon_killed() {
  local victim
  for victim in supervisor worker; do
    start_over a:1,b:1 sh -c 'setsid sleep 100 & echo ready; exec sleep 100'
    all_ready 2
    SECONDS=0
    kill -KILL "$(daemon_of b $victim)"
    ends_with 1
    err_has 'host b: the connection to its daemon was lost.*; ending the job'
    [ $victim = supervisor ] || err_has 'worker process was killed by signal 9'
    [ $SECONDS -le 10 ] || fail "took $SECONDS s"
    eventually none_left || fail "processes are left: $(leftovers | xargs -r ps -o pid,args -p)"
  done
}
case_daemon_killed_continue() {
  start_over a:1,b:1 --on-failure=continue sh -c 'echo ready; [ $PMIX_RANK != 0 ] || { sleep 1.5; echo went on; exit 0; }; exec sleep 100'
  all_ready 2
  kill -KILL "$(daemon_of b worker)"
  ends_with 1
  err_has 'host b: .*the others go on'
  grep -q 'went on' "$work/out" || fail 'the other host was ended'
}
# A host that stops answering, as when its network is gone.
case_frozen() {
  SECONDS=0
  start_over a:1,b:1 --host-timeout 4 sh -c 'echo ready; exec sleep 100'
  all_ready 2
  local frozen
  frozen=$(daemon_of b worker)
  kill -STOP "$frozen"
  ends_with 1
  err_has 'host b: the connection to its daemon was lost: no sign of life for 4 s'
  [ $SECONDS -le 20 ] || fail "took $SECONDS s"
  kill -CONT "$frozen"  # it finds itself alone and cleans up
}
# The daemons that lose sglrun end their part, whatever of sglrun dies and however.
case_sglrun_killed() {
  local victim
  for victim in supervisor worker; do
    start_over a:1,b:1 sh -c 'setsid sleep 100 & echo ready; exec sleep 100'
    all_ready 2
    if [ $victim = worker ]; then kill -KILL "$(worker_of)"; else kill -KILL $job; fi
    ends_with 137
    eventually none_left || fail "processes are left: $(leftovers | xargs -r ps -o pid,args -p)"
  done
}
case_sglrun_frozen() {
  start_over a:1,b:1 --host-timeout 4 sh -c 'echo ready; exec sleep 100'
  all_ready 2
  local worker
  worker=$(worker_of)
  kill -STOP "$worker"
  no_ranks() { [ -z "$(pgrep -fx 'sleep 100')" ] || [ -z "$(leftovers | xargs -r ps -o args= -p | grep '^sleep 100')" ]; }
  eventually no_ranks || fail 'ranks outlive the sign of life of sglrun'
  kill -CONT "$worker"
  ends_with 1
}
case_stranger() {
  start_over silent,b --host-timeout 3 --port 17000-17999 true
  local port='' tries
  for tries in $(seq 50); do
    port=$(ss -Hltnp 2>/dev/null | grep -F "pid=$(worker_of)," | grep -Eo ':17[0-9]{3} ' | head -1 | tr -d ': ')
    [ -z "$port" ] || break
    sleep 0.1
  done
  [ -n "$port" ] || fail 'no port in the range is listened at'
  # Noise, and a hello for host 0 without knowledge of its key.
  head -c 100 /dev/urandom >"/dev/tcp/127.0.0.1/$port"
  exec 5<>"/dev/tcp/127.0.0.1/$port"
  { printf 'sglrun-1\0\0\0\0'; head -c 64 /dev/zero; } >&5
  ends_with 1
  exec 5>&-
  err_has 'refused a connection from 127.0.0.1 port [0-9]+: it is no daemon of this job'
  err_has 'refused a connection from 127.0.0.1 port [0-9]+: it does not know the secret'
}
case_dry_run() {
  over 0 a:2,b:1 --dry-run --bind-to none
  out_is $'  rank  host  processors\n     0  a     any\n     1  a     any\n     2  b     any'
  over 0 a:1,b:1 --dry-run --json sh -c 'echo ran'
  python3 - "$work/out" <<'END' || fail 'the JSON is wrong'
import json, sys
ranks = json.load(open(sys.argv[1]))["ranks"]
assert [(r["rank"], r["host"]) for r in ranks] == [(0, "a"), (1, "b")], ranks
assert all(isinstance(p, int) for r in ranks for p in r["processors"]), ranks
END
  over 1 a,unreachable1 --dry-run
  err_has 'host unreachable1'
  run 2 --json true; err_has '--dry-run'
}
case_binding() {
  local level
  level=$(grep Cpus_allowed_list /proc/self/status | cut -f2)
  over 0 a:1,b:1 --bind-to package --report-bindings sh -c 'grep Cpus_allowed_list /proc/self/status | cut -f2'
  err_has "rank 0 on host a: bound to processors $(head -1 "$work/out")$"
  err_has "rank 1 on host b: bound to processors $(tail -1 "$work/out")$"
  over 2 a:1,b:4096 --bind-to core true
  err_has 'host b: --bind-to core: 4096 ranks need a core each'
}
# sglcoll-info --check --hosts
case_check() {
  local info
  info=$(dirname "$sglrun")/sglcoll-info
  "$info" --check --hosts "a,$(hostname)" --launch-agent "$agent" >"$work/out" 2>"$work/err" ||
    fail "hosts where all works do not pass"
  [ "$(grep -Ec '^Host .*: works$' "$work/out")" = 2 ] || fail "not both hosts are said to work"
  [ "$(grep -Ec '^  sglrun +works' "$work/out")" = 2 ] || fail "sglrun was not tried on both"
  grep -Eq '^  version +works +0' "$work/out" || fail "no version"
  "$info" --check --hosts a,unreachable1,absent1 --launch-agent "$agent" --json >"$work/out" 2>"$work/err"
  [ $? = 1 ] || fail "a host that is not reached passes"
  python3 - "$work/out" <<'END' || fail 'the JSON is wrong'
import json, sys
report = json.load(open(sys.argv[1]))
hosts = {host["name"]: host for host in report["hosts"]}
assert not report["check_passed"] and hosts["a"]["check_passed"], report
for name, remedy in ("unreachable1", "without a question"), ("absent1", "install libsglcoll"):
    reached = hosts[name]["probes"][0]
    assert reached["name"] == "reached" and reached["state"] == "fails", reached
    assert remedy in reached["remedy"], reached
END
  "$info" --hosts a >"$work/out" 2>"$work/err"; [ $? = 2 ] || fail "--hosts without --check is taken"
  "$info" --check --hosts -x >"$work/out" 2>"$work/err"; [ $? = 2 ] || fail "a bad name is taken"
}

run_case
kill $sshd
