#!/usr/bin/env bash
# sglcoll-tune as a user runs it: the file is written, used, and refused where it is of another
# machine.
#
#   tune_test.sh BIN_DIR
set -uo pipefail
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CONFIG_HOME=$work/config
unset SGLCOLL_TUNING
failed=0
fail() { echo "FAILED: $*"; failed=1; }
says() {  # STATUS TEXT COMMAND...
  local status=$1 text=$2 output
  shift 2
  output=$("$@" 2>&1)
  local got=$?
  [ $got -eq "$status" ] || fail "$* ended with $got, not $status: $output"
  [[ $output == *"$text"* ]] || fail "$* does not say \"$text\": $output"
}
default=$XDG_CONFIG_HOME/sglcoll/tuning.json

says 0 "Tuning: built in" "$bin/sglcoll-info"
says 2 "--nonsense" "$bin/sglcoll-tune" --nonsense
says 2 "it is a directory" "$bin/sglcoll-tune" --output "$work"
says 2 "cannot make" "$bin/sglcoll-tune" --output /proc/none/tuning.json
says 2 "start it alone" "$bin/sglrun" -n 1 "$bin/sglcoll-tune"

says 0 "written to $default" "$bin/sglcoll-tune" --quick
[ -s "$default" ] || fail "$default is not there"

says 0 "Tuning: $default" "$bin/sglcoll-info"
says 0 "predicted time" "$bin/sglcoll-plan" bcast --ranks 2 --transport shm --bytes 64K
says 0 "right" "$bin/sglrun" -n 2 "$bin/sglperf" allreduce --bytes 64K

# What the file says decides.
plan=("$bin/sglcoll-plan" allreduce --ranks 2 --transport shm --bytes 4K)
sed 's/"whole_bytes": [0-9]*/"whole_bytes": 8/' "$default" >"$work/pieces.json"
sed 's/"whole_bytes": [0-9]*/"whole_bytes": 65536/' "$default" >"$work/whole.json"
says 0 'allreduce "direct",' env SGLCOLL_TUNING="$work/pieces.json" "${plan[@]}"
says 0 'allreduce "direct_whole",' env SGLCOLL_TUNING="$work/whole.json" "${plan[@]}"
says 0 "right" env SGLCOLL_TUNING="$work/pieces.json" "$bin/sglrun" -n 2 "$bin/sglperf" allreduce --bytes 4K

# Of another machine: refused where it is named, left aside in the default place.
sed 's/"processor": "/&another /' "$default" >"$work/other.json"
for program in "$bin/sglcoll-info" "${plan[*]}" "$bin/sglrun -n 2 $bin/sglperf barrier"; do
  # shellcheck disable=SC2086
  output=$(SGLCOLL_TUNING=$work/other.json $program 2>&1) && fail "$program takes another machine's tuning"
  [[ $output == *"the calibration is of another "* ]] || fail "$program does not say why: $output"
done
cp "$work/other.json" "$default"
says 0 "not used" "$bin/sglcoll-info"
says 0 "right" "$bin/sglrun" -n 2 "$bin/sglperf" barrier
says 0 "Tuning: built in" env SGLCOLL_TUNING=none "$bin/sglcoll-info"

[ $failed -eq 0 ] && echo "all passed"
exit $failed
