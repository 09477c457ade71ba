# What the cases of sglrun's tests have in common; sourced with $sglrun and $case set.
#
# Whatever a case did, afterwards no process and no file of its job may be left.

# Processes and files of this case are told from others by this directory.
work=$(mktemp -d "${TMPDIR:-/tmp}/sglrun-test.XXXXXX")
mkdir "$work/tmp"
export TMPDIR=$work/tmp SGLRUN_TEST_MARK=$work
trap 'kill ${sshd-} 2>/dev/null; leftovers | xargs -r kill -KILL 2>/dev/null; rm -rf "$work"' EXIT
shm_before=$(ls /dev/shm)
. "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"

# run EXPECTED_STATUS ARGUMENT...: runs sglrun.
run() { expect_status "$1" "$sglrun" "${@:2}"; }

# Processes whose environment has this case's mark, without this shell's own.
leftovers() {
  local file pid
  for file in $(grep -lzsx "SGLRUN_TEST_MARK=$work" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    pid=${pid%/environ}
    [ "$(cut -d' ' -f4 "/proc/$pid/stat" 2>/dev/null)" = $$ ] || [ "$pid" = $$ ] ||
      [ "$pid" = "${sshd-}" ] ||
      [ ! -d "/proc/$pid" ] || [ "$pid" = "$BASHPID" ] || echo "$pid"
  done
}
none_left() { [ -z "$(leftovers)" ]; }
scratch_gone() { [ -z "$(ls "$work/tmp")" ]; }
has_lines() { [ "$(wc -l <"$1" 2>/dev/null)" -ge "$2" ] 2>/dev/null; }

# start ARGUMENT...: sglrun in the background, its process in $job.
start() {
  # Without job control a shell's background commands ignore SIGINT.
  set -m
  "$sglrun" "$@" >"$work/out" 2>"$work/err" </dev/null &
  job=$!
  set +m
}
ends_with() {
  wait "$job"
  local status=$?
  [ "$status" = "$1" ] || fail "status $status instead of $1"
}
all_ready() { eventually has_lines "$work/out" "$1" || fail "the ranks did not start"; }
worker_of() { pgrep -P "$job"; }

# Runs the case and looks for what is left.
run_case() {
  declare -F "case_$case" >/dev/null || fail 'no such case'
  "case_$case"
  eventually none_left || fail "processes are left: $(leftovers | xargs -r ps -o pid,args -p)"
  eventually scratch_gone || fail "files are left: $(find "$work/tmp")"
  new_shm_files=$(comm -13 <(echo "$shm_before") <(ls /dev/shm) | grep -i -e sglcoll -e sglrun)
  [ -z "$new_shm_files" ] || fail "files are left in /dev/shm: $new_shm_files"
}
