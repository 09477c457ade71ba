#!/bin/sh
# In ssh's place: fake_agent.sh HOST COMMAND... runs the command on a host of fake_sshd.py
# at $FAKE_SSHD, with the Python $FAKE_PYTHON. The host's name says what goes wrong.
host=$1
shift
run() { "$FAKE_PYTHON" -S -E "$(dirname "$0")/fake_sshd.py" run "$FAKE_SSHD" "$@"; }
case $host in
  unreachable*) echo "ssh: connect to host $host port 22: No route to host" >&2; exit 255 ;;
  silent*) exec sleep 1000 ;;
  absent*) run "$host" /nowhere/sglrun --daemon ;;
  liar*) sed 's/^key ..../key 0000/' | run "$host" "$@" ;;
  old*) sed 's/^version .*/version 0.0.1/' | run "$host" "$@" ;;
  cut*) sed 's/^address .*/address 192.0.2.1/' | run "$host" "$@" ;;  # nobody is there
  nonsense*) echo hello | run "$host" "$@" ;;
  *) run "$host" "$@" ;;
esac
