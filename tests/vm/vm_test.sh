#!/usr/bin/env bash
# One case of the tests of `vm`: vm_test.sh CASE FOLDER, where one machine runs in FOLDER.
set -u
case=$1
machine=$2
vm=$(dirname "$(readlink -f "$0")")/vm
work=$(mktemp -d "${TMPDIR:-/tmp}/vm-test.XXXXXX")
trap 'rm -rf "$work"' EXIT

. "$(dirname "$vm")/../support/shell.sh"
patience=20
run() { expect_status "$1" "$vm" "${@:2}"; }

case_status_and_output() {
  run 7 exec "$machine" -- sh -c 'echo "one two"; echo three >&2; pwd >&2; exit 7'
  out_is "one two"
  err_has three
  err_has "^$PWD$"
  run 0 exec "$machine" -- printf '%s|' 'a  b' "it's" '$HOME'
  out_is "a  b|it's|\$HOME|"
}

case_time_out() {
  run 124 exec -t 2 "$machine" -- sh -c 'setsid sleep 1234 & sleep 1234'
  err_has "longer than 2 s"
  run 1 exec "$machine" -- pgrep -x sleep  # nothing of it goes on
}

case_strays_end_with_their_job() {
  run 0 exec "$machine" -- sh -c 'setsid sleep 1234 >/dev/null 2>&1 & exit 0'
  run 1 exec "$machine" -- pgrep -x sleep
}

case_results_are_kept_and_the_host_untouched() {
  run 0 exec -k "$work/kept" "$machine" -- \
    sh -c "echo result >\$SGLCOLL_VM_OUT/file; echo lost >$work/file; cat $work/file"
  out_is lost
  [ "$(cat "$work/kept/out.1/file")" = result ] || fail "the result did not come back"
  [ ! -e "$work/file" ] || fail "a write of the machine reached the host's files"
}

case_no_machine() {
  run 125 exec "$work/none" -- true
  err_has "never started"
  run 2 exec "$machine" --
  run 2 exec -t 0 "$machine" -- true
}

# Without QEMU: a skip with its reason, an error in CI.
case_missing_tool() {
  mkdir "$work/bin"
  ln -s /usr/bin/* "$work/bin"
  rm -f "$work"/bin/qemu-system-x86_64
  unset CI SGLCOLL_CI
  PATH=$work/bin run 77 start "$work/machine"
  err_has "package qemu-system-x86"
  PATH=$work/bin run 77 exec "$machine" -- true
  PATH=$work/bin CI=1 run 1 start "$work/machine"
  PATH=$work/bin SGLCOLL_CI=1 run 1 run -- true
}

# Killed as hard as can be, it leaves no process, and no file after the next start.
case_killed() {
  local folder=$work/tmp pid victim
  for victim in client supervisor; do
    mkdir -p "$folder"
    TMPDIR=$folder "$vm" run -n 2 -- sleep 1000 >"$work/out" 2>"$work/err" &
    pid=$!
    eventually has_machines 2 || fail "no machines came up"
    if [ "$victim" = supervisor ]; then kill -KILL "$(cat "$folder"/*/supervisor)"; else kill -KILL $pid; fi
    wait $pid 2>/dev/null
    eventually has_machines 0 || fail "machines outlive their $victim"
    eventually no_process || fail "processes outlive the $victim: $(processes)"
  done
  # It sweeps before it boots; this boot has no time to end.
  TMPDIR=$folder run 125 run -b 1 -- true
  [ -z "$(ls "$folder")" ] || fail "left behind: $(ls "$folder")"
}
processes() { pgrep -af "$work/tmp/sglcoll-vm"; }
no_process() { [ -z "$(processes)" ]; }
has_machines() { [ "$(pgrep -fc "qemu-system.*$work/tmp/sglcoll-vm")" = "$1" ]; }

"case_$case"
