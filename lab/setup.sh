# shellcheck shell=bash
# Makes the lab's kernel, once: Debian's, with siw built beside it, and an initramfs. Sourced by lab.sh, which sets here.

# setup DIR KERNEL: KERNEL is Debian's meta-package of a kernel; everything is put into DIR.
setup() {
  local dir=$1 image release new
  if [ "$(id -u)" = 0 ]; then apt-get -q -o Acquire::Retries=5 update >&2; fi
  # The meta-package names the newest kernel; older ones leave the mirrors, so none is pinned.
  image=$(apt-cache depends "$2" | awk '$1 == "Depends:" && $2 ~ /^linux-image-[0-9]/ { print $2; exit }')
  if [ -z "$image" ]; then
    echo "lab: apt knows no package $2; as root: apt-get update" >&2
    return 1
  fi
  release=${image#linux-image-}
  need_packages "linux-headers-$release" make gcc || return 1
  echo "lab: setting up $image (once, about half a minute)" >&2
  new=$(mktemp -d "$dir.XXXXXX")
  (cd "$new" && apt-get -q -o Acquire::Retries=5 download "$image" && dpkg -x "$image"_*.deb . && rm "$image"_*.deb) >&2 &&
    build_siw "$new" "$release" >&2 &&
    depmod -b "$new" "$release" &&
    make_initramfs "$new" "$release" &&
    echo "$release" > "$new/release" &&
    rm -rf "$dir" && mv "$new" "$dir" && return
  rm -rf "$new"
  echo "lab: the set-up of $image failed; see above" >&2
  return 1
}

# Debian ships rdma_rxe.ko but leaves siw out: built from Debian's own source of the kernel, of which only siw's folder is kept.
build_siw() {
  local src=$1/src source
  source=linux-source-$(cut -d. -f1,2 <<< "$2")
  mkdir -p "$src" "$1/lib/modules/$2/extra"
  (cd "$src" && apt-get -q -o Acquire::Retries=5 download "$source" && dpkg --fsys-tarfile "$source"_*.deb | tar -xO "./usr/src/$source.tar.xz" |
    tar -xJ --strip-components=5 --wildcards '*/drivers/infiniband/sw/siw/*') &&
    make -C "/usr/src/linux-headers-$2" M="$src" CONFIG_RDMA_SIW=m modules &&
    strip --strip-debug "$src/siw.ko" && cp "$src/siw.ko" "$1/lib/modules/$2/extra/" && rm -rf "$src"
}

# busybox, the modules that reach the host's root, and init.
make_initramfs() {
  local root=$1/initramfs file module
  mkdir -p "$root"/{bin,m,dev,proc,sys}
  cp /bin/busybox "$root/bin/"
  for file in sh mount mkdir insmod switch_root; do ln -s busybox "$root/bin/$file"; done
  for module in virtio_pci virtio_console virtio_rng 9pnet_virtio 9p overlay; do
    modprobe -d "$1" -S "$2" --show-depends "$module" | awk '$1 == "insmod" { print $2 }'
  done | awk '!seen[$0]++' | while read -r file; do
    module=$(basename "${file%.xz}")
    case $file in *.xz) xz -dc "$file" ;; *) cat "$file" ;; esac > "$root/m/$module"
    echo "$module"
  done > "$root/m/order"
  # shellcheck disable=SC2154  # here is lab.sh's
  install -m 755 "$here/init" "$root/init"
  (cd "$root" && find . | busybox cpio -o -H newc) > "$1/initrd" 2>/dev/null && rm -rf "$root"
}
