# The kernel and the initramfs of the virtual machines, made once and cached.
# Sourced by `vm`; image_prepare sets image_kernel and image_initrd.
#
# The cache is $XDG_CACHE_HOME/sglcoll-vm (default ~/.cache). It keeps the kernel
# package, so that a change of these scripts downloads nothing, and a folder for
# each pair of kernel version and hash of the scripts. Only a new kernel version
# (or an empty cache) needs the package archive, through apt-get download.

image_modules=(crc32_generic crc32_pclmul virtio_pci 9pnet_virtio 9p overlay virtio_net
               rdma_rxe ib_uverbs rdma_ucm veth dummy sch_netem)
image_applets=(sh mount insmod mkdir chroot poweroff)

image_prepare() {
  local cache=${XDG_CACHE_HOME:-$HOME/.cache}/sglcoll-vm
  mkdir -p "$cache"
  exec 8>"$cache/lock"
  flock 8  # two machines may start at the same moment

  local hash package version folder
  hash=$(cat "$here/image.sh" "$here/init.sh" "$(command -v busybox)" | sha256sum | cut -c1-16)
  package=$(apt-cache depends linux-image-amd64 2>/dev/null |
            awk '/Depends: linux-image-[0-9]/ { print $2; exit }')
  version=$(apt-cache policy "${package:-none}" 2>/dev/null | awk '/Candidate:/ { print $2 }')
  folder=$cache/${package:-none}_${version//:/-}-$hash
  if [ ! -e "$folder/complete" ]; then
    # A kernel that the archive no longer has, or no archive: an older one is as good.
    image_build "$cache" "$package" "$version" "$folder" ||
      folder=$(find "$cache" -mindepth 2 -name complete -path "*-$hash/*" -printf '%h\n' | sort -V | tail -1)
    [ -n "$folder" ] || fail "no kernel: apt-get download ${package:-linux-image-amd64} failed"
    find "$cache" -mindepth 1 -maxdepth 1 ! -name lock -mtime +30 -exec rm -rf {} +
  fi
  touch "$folder"
  exec 8>&-
  image_kernel=$folder/vmlinux
  image_initrd=$folder/initrd.gz
}

# image_build CACHE PACKAGE VERSION FOLDER
image_build() {
  local cache=$1 package=$2 version=$3 folder=$4 archive work
  [ -n "$package" ] && [ -n "$version" ] || return 1
  archive=$cache/${package}_${version//:/-}.deb
  work=$(mktemp -d "$cache/tmp.XXXXXX")
  if [ ! -e "$archive" ]; then
    (cd "$work" && apt-get download -qq "$package=$version" >download.log 2>&1) &&
      mv "$work"/*.deb "$archive" || { cat "$work/download.log" >&2; rm -rf "$work"; return 1; }
  fi
  touch "$archive"
  if image_unpack "$archive" "$work" && image_kernel "$work" && image_initrd "$work"; then
    rm -rf "$folder" "$work/kernel" "$work/tree"
    touch "$work/complete"
    mv -T "$work" "$folder"
  else
    rm -rf "$work"
    fail "cannot make the kernel and initramfs from $archive"
  fi
}

# The package is unpacked, never installed.
image_unpack() {
  local archive=$1 work=$2
  mkdir "$work/kernel" && dpkg-deb --fsys-tarfile "$archive" | tar -x -C "$work/kernel" ./boot ./lib/modules &&
    depmod -b "$work/kernel" "$(ls "$work/kernel/lib/modules")"
}

# An emulated processor takes as long to uncompress a kernel as to start it.
image_kernel() {
  local work=$1 compressed offset
  compressed=$(echo "$work/kernel/boot/"vmlinuz-*)
  offset=$(LC_ALL=C grep -aboP '\xFD7zXZ\x00' "$compressed" | head -1 | cut -d: -f1)
  tail -c +$((${offset:-0} + 1)) "$compressed" | xz -dc >"$work/vmlinux" 2>/dev/null || true  # more follows it
  if [ "$(head -c 4 "$work/vmlinux" | tail -c 3)" = ELF ]; then rm "$compressed"
  else mv "$compressed" "$work/vmlinux"; fi
}

image_initrd() {
  local work=$1 release module file number=100
  local -A seen=()
  release=$(ls "$work/kernel/lib/modules")
  mkdir -p "$work"/tree/{bin,modules,proc,sys,dev,host,new,tmp,control}
  cp "$(command -v busybox)" "$work/tree/bin/busybox"
  for file in "${image_applets[@]}"; do ln -s busybox "$work/tree/bin/$file"; done
  for module in "${image_modules[@]}"; do  # in the order in which they must be loaded
    while read -r _ file _; do
      [ -z "${seen[$file]-}" ] || continue
      seen[$file]=1
      number=$((number + 1))
      cp "$file" "$work/tree/modules/$number-$(basename "$file")"
    done < <(modprobe -d "$work/kernel" -S "$release" --show-depends "$module" | grep ^insmod)
  done
  [ ${#seen[@]} -ge ${#image_modules[@]} ] || return 1
  install -m 755 "$here/init.sh" "$work/tree/init"
  (cd "$work/tree" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd.gz"
}
