#!/bin/sh
# The first process of a virtual machine, in its initramfs: loads the modules, puts
# a scratch overlay over the host's file system, goes on there with node.sh.
export PATH=/bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
for module in /modules/*.ko; do insmod "$module" || echo "init: cannot load $module"; done

# The host's files do not change while a machine runs, so all may be cached.
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro host /host
mount -t tmpfs -o mode=755 scratch /tmp
mkdir /tmp/upper /tmp/work
mount -t overlay -o lowerdir=/host,upperdir=/tmp/upper,workdir=/tmp/work root /new

mount -t proc proc /new/proc
mount -t sysfs sys /new/sys
mount -t cgroup2 cgroup /new/sys/fs/cgroup
mount -t devtmpfs dev /new/dev
mkdir -p /new/dev/shm /new/dev/pts
mount -t tmpfs -o mode=1777 shm /new/dev/shm
mount -t devpts -o mode=620,ptmxmode=666 pts /new/dev/pts
mount -t tmpfs -o mode=755 run /new/run
mkdir /new/run/sglcoll-vm
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none control /new/run/sglcoll-vm
chroot /new /bin/bash /run/sglcoll-vm/node.sh
poweroff -f
