#!/bin/bash
# The second part of a node's start and its loop over jobs; runs as root on the
# overlay, as the only service of the machine. /run/sglcoll-vm is the control folder
# that all nodes share with the host.
control=/run/sglcoll-vm
. "$control/settings"  # nodes, rails, sshd
node=$(sed -n 's/.*sglcoll_node=\([0-9]*\).*/\1/p' /proc/cmdline)
export SGLCOLL_VM_NODE=$node SGLCOLL_VM_NODES=$nodes SGLCOLL_VM_RAILS=$rails
export HOME=/run/home USER=root LOGNAME=root TERM=dumb LANG=C.UTF-8
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

start_network() {
  hostname "n$node"
  ip link set lo up
  echo "127.0.0.1 localhost" >/etc/hosts
  local other rail mtu=9000
  [ "$nodes" -eq 1 ] || mtu=1500  # what the switch passes on
  for other in $(seq "$nodes"); do echo "10.9.0.$other n$other" >>/etc/hosts; done
  # Both rails are on one switch: an interface answers for its own address only.
  echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
  echo 2 >/proc/sys/net/ipv4/conf/all/arp_announce
  for rail in $(seq 0 $((rails - 1))); do
    ip addr add "10.9.$rail.$node/24" dev "eth$rail"
    ip link set "eth$rail" mtu "$mtu" up
    rdma link add "rxe$rail" type rxe netdev "eth$rail"
  done
}

# A home without the start-up files of whoever runs the tests; ssh runs them too.
make_home() {
  mkdir -m 700 "$HOME"
  sed -i "s#^\(root:.*\):[^:]*:[^:]*\$#\1:$HOME:/bin/bash#" /etc/passwd
}

# One host key and one user key for all nodes, both made for this boot alone.
start_sshd() {
  local keys=/run/sglcoll-ssh config=/etc/ssh/ssh_config.d/00-sglcoll-vm.conf
  mkdir -p /run/sshd "$keys" /etc/ssh/ssh_config.d
  install -m 600 "$control"/ssh/* "$keys"
  sed "s/^/n*,10.9.* /" "$keys/host.pub" >"$keys/known_hosts"
  printf '%s\n' "Host n? n?? 10.9.*" "  IdentityFile $keys/user" "  IdentitiesOnly yes" \
    "  UserKnownHostsFile $keys/known_hosts" "  StrictHostKeyChecking yes" "  BatchMode yes" \
    "  KexAlgorithms curve25519-sha256" >"$config"
  printf '%s\n' "HostKey $keys/host" "AuthorizedKeysFile $keys/user.pub" "PermitRootLogin yes" \
    "PasswordAuthentication no" "KbdInteractiveAuthentication no" "UsePAM no" "StrictModes no" \
    "UseDNS no" "PrintMotd no" "LoginGraceTime 0" "MaxStartups 100" "PidFile none" >"$keys/sshd_config"
  /usr/sbin/sshd -f "$keys/sshd_config" -E /run/sshd.log
}

# Whatever a job leaves running ends with it: each has its own control group.
run_job() {
  local job=$1 group=/sys/fs/cgroup/job limit status
  limit=$(cat "$job/limit")
  export SGLCOLL_VM_OUT=$job/out.$node SGLCOLL_VM_SHARED=$job/shared
  mkdir -p "$SGLCOLL_VM_OUT" "$group"
  (
    echo "$BASHPID" >"$group/cgroup.procs"
    exec timeout -k 5 "$limit" bash "$job/command"
  ) >"$job/stdout.$node" 2>"$job/stderr.$node" </dev/null
  status=$?
  echo 1 >"$group/cgroup.kill"
  until rmdir "$group" 2>/dev/null; do read -rt 0.05 <>"$idle"; done
  echo $status >"$job/status.$node.new"
  mv "$job/status.$node.new" "$job/status.$node"
}

idle=/run/idle
mkfifo "$idle"
ulimit -l unlimited
ulimit -c 0
make_home
start_network
[ "$sshd" = 0 ] || start_sshd
: >"$control/n$node/ready"
number=1
while :; do
  job=$control/jobs/$number
  if [ -e "$job" ]; then  # appears complete, by a rename
    ! grep -qx "$node" "$job/nodes" || run_job "$job"
    number=$((number + 1))
  else
    read -rt 0.1 <>"$idle"
  fi
done
