#!/usr/bin/env bash
# One case of sglrun's tests: sglrun_test.sh SGLRUN RANK_PROGRAM ABORT_PROGRAM CASE
set -u
sglrun=$1
rank_program=$2
abort_program=$3
case=$4
. "$(dirname "$0")/support.sh"

ready_then_sleep='echo ready; exec sleep 100'

case_ranks() {
  run 0 -n 3 sh -c 'echo $PMIX_RANK'
  sorted_out_is $'0\n1\n2'
  err_is_empty
  run 0 -np 2 sh -c 'echo $PMIX_RANK'
  sorted_out_is $'0\n1'
  run 0 --np=2 sh -c 'echo $PMIX_RANK'
  sorted_out_is $'0\n1'
  run 0 sh -c 'echo $PMIX_RANK'
  out_is 0
}
case_arguments() {
  run 0 -n 1 printf '%s\n' -n -np --help -x 'a b' '' --
  out_is $'-n\n-np\n--help\n-x\na b\n\n--'
  run 0 -n 1 -- echo x
  out_is x
}
case_help() {
  run 0 --help
  for option in --np --host --hostfile --oversubscribe --dry-run --json \
    --launch-agent --remote-program --host-timeout --port --map-by --bind-to --report-bindings -x --wdir --tag-output \
    --output-filename --timeout --on-failure --quiet --verbose --version; do
    grep -q -- "$option" "$work/out" || fail "--help has no $option"
  done
  [ "$(grep -ci 'sglrun \[' "$work/out")" = 1 ] || fail "--help has not one usage line"
  grep -qx 'Usage: sglrun \[OPTION...\] PROGRAM \[ARGUMENT...\]' "$work/out" || fail "wrong usage line"
  run 0 --version
  grep -Eq '^sglrun [0-9]+\.[0-9]+\.[0-9]+$' "$work/out" || fail "wrong --version"
}
case_usage() {
  run 2 -n 0 true; err_has '--np'
  run 2 -n many true; err_has '--np'
  run 2 --no-such-option true; err_has 'no-such-option'
  run 2; err_has 'no program'
  run 2 -n 2; err_has 'no program'
  run 2 --bind-to moon true; err_has 'moon'
  run 2 --map-by moon true; err_has 'moon'
  run 2 --on-failure=ignore true; err_has 'ignore'
  for seconds in -1 0 nan 1e300 soon; do
    run 2 --timeout "$seconds" true; err_has "--timeout: $seconds is not a number of seconds from 0.001 to 1000000000"
  done
  run 2 --host-timeout nan true; err_has 'nan is not a number of seconds from 0.5 to 86400'
  run 2 --wdir /nonexistent true; err_has 'nonexistent'
  run 2 -q --verbose true; err_has 'verbose'
}
case_hosts() {
  run 0 --host localhost sh -c 'echo $PMIX_RANK'; out_is 0
  run 0 --host "localhost:1,$(hostname):2" sh -c 'echo $PMIX_RANK'; sorted_out_is $'0\n1\n2'
  run 2 --host localhost:x true; err_has "'x' slots"
  run 2 -n 3 --host localhost:2 true; err_has "host $(hostname) has 2 slots; .*--oversubscribe"
  run 0 -n 3 --host localhost:2 --oversubscribe sh -c 'echo $PMIX_RANK'; sorted_out_is $'0\n1\n2'
  printf '# a comment\n\nlocalhost slots=2 # two\n' >"$work/hosts"
  run 0 --hostfile "$work/hosts" sh -c 'echo $PMIX_RANK'; sorted_out_is $'0\n1'
  echo 'localhost cpus=2' >"$work/hosts"
  run 2 --hostfile "$work/hosts" true; err_has 'cpus=2'
  run 2 --hostfile "$work/none" true; err_has 'cannot be read'
  run 2 --host=-oProxyCommand=x true; err_has "cannot be a host's name"
}
case_binding() {
  local level processors='grep Cpus_allowed_list /proc/self/status | cut -f2'
  run 0 -n 1 --bind-to none --report-bindings true; err_has 'rank 0 on host .*: not bound'
  for level in core numa l3 package; do
    "$sglrun" -n 1 --bind-to $level true 2>"$work/err" || { err_has "$level"; continue; }
    run 0 -n 1 --bind-to $level --report-bindings sh -c "$processors"
    err_has "bound to processors $(cat "$work/out")$"
  done
  for level in slot core numa l3 package node; do
    "$sglrun" -n 1 --map-by $level true 2>"$work/err" || err_has "$level"
  done
  run 2 -n 4096 --bind-to core true
  err_has '--bind-to core: 4096 ranks need a core each'
}
case_environment() {
  export FROM_OUTSIDE=seen
  unset NOT_SET
  run 0 -x A=1 -x 'B=x y=z' -x A=2 -x FROM_OUTSIDE sh -c 'echo "$A,$B,$FROM_OUTSIDE"'
  out_is '2,x y=z,seen'
  run 2 -x NOT_SET true; err_has 'NOT_SET'
  run 2 -x =1 true; err_has "before the '='"
}
case_nested() {
  run 0 -n 1 "$sglrun" -n 2 "$rank_program" meet
}
case_wdir() {
  run 0 --wdir "$work/tmp" pwd
  out_is "$work/tmp"
}
case_tags() {
  run 0 -n 2 --tag-output sh -c 'echo o$PMIX_RANK; echo e$PMIX_RANK >&2'
  sorted_out_is $'[0:out] o0\n[1:out] o1'
  [ "$(sort "$work/err")" = $'[0:err] e0\n[1:err] e1' ] || fail 'wrong tags on standard error'
}
case_output_files() {
  run 0 -n 2 --output-filename "$work/log" sh -c 'echo o$PMIX_RANK; echo e$PMIX_RANK >&2'
  out_is ''
  err_is_empty
  [ "$(cat "$work/log.0")" = $'o0\ne0' ] || fail 'wrong file of rank 0'
  [ "$(cat "$work/log.1")" = $'o1\ne1' ] || fail 'wrong file of rank 1'
  run 1 --output-filename "$work/none/log" true; err_has "none/log.0"
}
case_stdin() {
  seq 100000 >"$work/in"
  cat "$work/in" | "$sglrun" -n 3 sh -c 'cat' >"$work/out" || fail 'a rank failed'
  cmp "$work/in" "$work/out" || fail 'rank 0 did not read what came by a pipe'
  "$sglrun" -n 3 cat <"$work/in" >"$work/out" || fail 'a rank failed'
  cmp "$work/in" "$work/out" || fail 'rank 0 did not read the file'
}
case_terminal() {
  # script(1) gives sglrun a terminal.
  printf 'typed\n' | script -qec "$sglrun -n 2 sh -c 'read line && echo got \$line || echo none'" /dev/null \
    >"$work/out" 2>"$work/err" || fail "it failed on a terminal"
  grep -q 'got typed' "$work/out" || fail 'rank 0 did not read the terminal'
  grep -q 'none' "$work/out" || fail 'rank 1 did not get an empty input'
}
case_big_output() {
  seq 13000000 >"$work/big"
  [ "$(stat -c %s "$work/big")" -gt 100000000 ] || fail 'no 100 MB made'
  "$sglrun" cat "$work/big" >"$work/out2" || fail 'a rank failed'
  cmp "$work/big" "$work/out2" || fail '100 MB to a file came out different'
  "$sglrun" cat "$work/big" | cmp - "$work/big" || fail '100 MB to a pipe came out different'
}
case_binary_output() {
  # No newline for long, none at the end.
  head -c 3000000 /dev/zero >"$work/zeros"
  "$sglrun" cat "$work/zeros" | cmp - "$work/zeros" || fail 'bytes without newline came out different'
  run 0 printf abc
  [ "$(stat -c %s "$work/out")" = 3 ] || fail 'a last line without newline came out different'
}
case_whole_lines() {
  # Lines in pieces, on both outputs, of four ranks.
  "$sglrun" -n 4 sh -c 'for i in $(seq 20); do
      printf "a$PMIX_RANK"; printf "d$PMIX_RANK" >&2; sleep 0.01
      printf "b$PMIX_RANK"; printf "e$PMIX_RANK\n" >&2; printf "c$PMIX_RANK\n"
    done' >"$work/out" 2>&1
  [ "$(wc -l <"$work/out")" = 160 ] || fail 'lines were lost'
  ! grep -Evq '^(a([0-3])b\2c\2|d([0-3])e\3)$' "$work/out" || fail 'lines were mixed'
}
case_slow_reader() {
  "$sglrun" -n 2 seq 200000 | { sleep 0.5; cat; } >"$work/out" || fail 'a rank failed'
  [ "$(wc -l <"$work/out")" = 400000 ] || fail 'lines were lost'
}
case_closed_reader() {
  "$sglrun" -n 2 yes 2>"$work/err" >/dev/full
  [ $? = 1 ] || fail 'output to a full device is lost without a word'
  err_has 'cannot write standard output: No space left on device'
  "$sglrun" -n 2 yes 2>"$work/err" | head -1 >"$work/out"
  [ "${PIPESTATUS[0]}" = 141 ] || fail 'no SIGPIPE where the reader left'
  out_is y
}
case_status() {
  run 7 -n 3 sh -c '[ $PMIX_RANK != 1 ] || exit 7; exec sleep 100'
  err_has 'rank 1 on host [^ ]+ \(pid [0-9]+\) ended with status 7; ending the job'
  run 7 -q -n 3 sh -c '[ $PMIX_RANK != 1 ] || exit 7; exec sleep 100'
  err_is_empty
  run 0 --verbose true
  err_has 'rank 0 started on host'
  err_has 'rank 0 on host .* ended with status 0'
}
case_signalled() {
  local signal
  for signal in KILL SEGV TERM; do
    SECONDS=0
    run $((128 + $(kill -l $signal))) -n 3 sh -c "[ \$PMIX_RANK != 2 ] || kill -$signal \$\$; exec sleep 100"
    [ $SECONDS -le 2 ] || fail "took $SECONDS s after $signal"
    err_has "rank 2 on host [^ ]+ \(pid [0-9]+\) was killed by signal $(kill -l $signal)"
  done
}
case_continue() {
  run 9 -n 3 --on-failure=continue sh -c \
    '[ $PMIX_RANK != 0 ] || exit 9; sleep 0.3; [ $PMIX_RANK != 1 ] || exit 8; echo went on'
  out_is 'went on'
  err_has 'status 9; the others go on'
  err_has 'rank 1 .* status 8'
}
case_missing() {
  run 127 ''; err_has "cannot start ''"
  run 127 -n 2 no-such-program; err_has "cannot start 'no-such-program': No such file"
  run 127 ./no-such-program; err_has 'No such file'
  run 126 "$work"; err_has 'Permission denied'
}
case_timeout() {
  SECONDS=0
  run 124 -n 2 --timeout 0.3 sleep 100; err_has 'longer than --timeout 0.3 s'
  run 124 -n 2 --timeout 0.3 sh -c 'trap "" TERM INT; while :; do sleep 1; done'
  [ $SECONDS -le 30 ] || fail "took $SECONDS s"
  run 0 --timeout 60 true
}
case_signals() {
  local signal
  for signal in USR1 USR2 HUP TERM INT; do
    start -n 2 sh -c "trap 'echo got; exit 0' $signal; echo ready; while :; do sleep 0.05; done"
    all_ready 2
    kill -$signal $job
    ends_with 0
    sorted_out_is $'got\ngot\nready\nready'
  done
  start -n 2 sh -c "$ready_then_sleep"
  all_ready 2
  kill -TERM $job
  ends_with 143
}
case_interrupt_group() {
  # As a terminal does it: to the whole process group, twice in a row.
  local round
  for round in 1 2; do
    start -n 2 sh -c "$ready_then_sleep"
    all_ready 2
    kill -INT -- -$job
    ends_with 130
  done
}
case_interrupt_twice() {
  start -n 2 sh -c 'trap "" INT TERM; echo ready; while :; do sleep 0.05; done'
  all_ready 2
  kill -INT $job
  sleep 0.3
  kill -0 $job || fail 'one interrupt ended ranks that ignore it'
  kill -INT $job
  ends_with 130
  err_has 'interrupted twice'
}
# stuck_output: starts ranks whose output nobody takes any more.
stuck_output() {
  mkfifo "$work/fifo"
  sleep 1000 <"$work/fifo" >/dev/null 2>&1 &
  reader=$!
  set -m
  "$sglrun" -n 2 yes >"$work/fifo" 2>"$work/err" </dev/null &
  job=$!
  set +m
  sleep 0.5
}
case_interrupt_stuck() {
  stuck_output
  kill -INT $job
  kill -INT $job
  sleep 0.1
  kill -INT $job 2>/dev/null
  ends_with 130
  kill $reader
}
case_killed_stuck() {
  stuck_output
  kill -KILL $job
  ends_with 137
  eventually none_left || fail "processes are left: $(leftovers)"
  kill $reader
}
case_stop_and_go() {
  start -n 2 sh -c 'echo ready; exec sleep 100'
  all_ready 2
  kill -TSTP $job
  rank_state() { ps -o stat= --ppid "$(worker_of)" | grep -c "^$1"; }
  eventually eval '[ "$(rank_state T)" = 2 ]' || fail 'the ranks were not stopped'
  kill -CONT $job
  eventually eval '[ "$(rank_state T)" = 0 ]' || fail 'the ranks were not continued'
  kill -TERM $job
  ends_with 143
}
case_supervisor_killed() {
  start -n 2 sh -c 'setsid sleep 100 & echo ready; exec sleep 100'
  all_ready 2
  kill -KILL $job
  ends_with 137
}
case_few_descriptors() {
  (ulimit -Sn 40 && exec "$sglrun" -n 20 sh -c 'ulimit -Sn') >"$work/out" 2>"$work/err"
  [ $? = 0 ] || fail "20 ranks are not started with 40 descriptors: $(cat "$work/err")"
  [ "$(sort -u "$work/out")" = 40 ] || fail 'the ranks have not the limit that was'
}
case_worker_killed() {
  start -n 2 sh -c 'setsid sleep 100 & echo ready; exec sleep 100'
  all_ready 2
  kill -KILL $(worker_of)
  ends_with 137
  err_has 'worker process was killed by signal 9'
}
case_grandchildren() {
  run 0 -n 2 sh -c 'sleep 100 & setsid sleep 100 & (setsid sh -c "sleep 100 & sleep 100" &) ; exit 0'
  run 3 -n 2 sh -c 'trap "" TERM; setsid sleep 100 & sleep 100 & sleep 0.1; exit 3'
}
case_pmix_scratch() {
  start -n 2 sh -c "$ready_then_sleep"
  all_ready 2
  [ "$(stat -c %a "$work"/tmp/sglrun.*)" = 700 ] || fail 'the scratch directory is not private'
  kill -TERM $job
  ends_with 143
  env TMPDIR="$work/none" "$sglrun" true 2>"$work/err" && fail 'ran without a place for its files'
  err_has 'set TMPDIR'
}
case_abort_call() {
  run 5 -n 3 "$abort_program"
  err_has 'rank 1 on host [^ ]+ \(pid [0-9]+\) aborted the job with status 5: out of beans'
}

run_case
