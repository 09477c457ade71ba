#!/usr/bin/env bash
# On the first of several nodes: sglrun_test.sh SGLRUN EXCHANGE_PROGRAM, jobs on this and the
# other nodes by ssh.
set -uo pipefail
sglrun=$1
exchange_program=$2
work=/tmp
. "$(dirname "$(readlink -f "$0")")/../support/shell.sh"

expect_status 0 "$sglrun" --host n1:2,n2:2,n3:2 sh -c 'echo $PMIX_RANK $(hostname) $PWD'
sorted_out_is "$(printf '%s\n' "0 n1 $PWD" "1 n1 $PWD" "2 n2 $PWD" "3 n2 $PWD" "4 n3 $PWD" "5 n3 $PWD")"
expect_status 0 "$sglrun" --host n1:2,n2:2,n3:2 --map-by node "$exchange_program" n1 n2 n3 n1 n2 n3
