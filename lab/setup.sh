# shellcheck shell=bash
# Makes the lab's kernel once: Debian's kernel, a build of siw, and an initramfs; and gets Pyverbs, and libraries of
# another release of Debian, if they are asked for. Sourced by lab.sh, which sets "here".

# setup DIR KERNEL: puts the kernel of Debian's meta-package KERNEL into DIR.
setup() {
  local dir=$1 image release new
  if [ "$(id -u)" = 0 ]; then apt-get -q -o Acquire::Retries=5 update >&2; fi
  # The meta-package depends on the newest kernel. No version is pinned, since older ones leave the mirrors.
  image=$(apt-cache depends "$2" | awk '$1 == "Depends:" && $2 ~ /^linux-image-[0-9]/ { print $2; exit }')
  if [ -z "$image" ]; then
    echo "lab: apt does not know the package $2: run apt-get update as root" >&2
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
  echo "lab: the set-up of $image failed: see the messages above" >&2
  return 1
}

# build_siw DIR RELEASE: builds siw, which Debian's kernels lack, from Debian's source of the kernel, of which only
# siw's folder is kept.
build_siw() {
  local src=$1/src source
  source=linux-source-$(cut -d. -f1,2 <<< "$2")
  mkdir -p "$src" "$1/lib/modules/$2/extra"
  (cd "$src" && apt-get -q -o Acquire::Retries=5 download "$source" && dpkg --fsys-tarfile "$source"_*.deb | tar -xO "./usr/src/$source.tar.xz" |
    tar -xJ --strip-components=5 --wildcards '*/drivers/infiniband/sw/siw/*') &&
    make -C "/usr/src/linux-headers-$2" M="$src" CONFIG_RDMA_SIW=m modules &&
    strip --strip-debug "$src/siw.ko" && cp "$src/siw.ko" "$1/lib/modules/$2/extra/" && rm -rf "$src"
}

# make_initramfs DIR RELEASE: packs busybox, the modules for the host's root, and init.
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
  # shellcheck disable=SC2154  # lab.sh sets it
  install -m 755 "$here/init" "$root/init"
  (cd "$root" && find . | busybox cpio -o -H newc) > "$1/initrd.new" 2>/dev/null && mv "$1/initrd.new" "$1/initrd" && rm -rf "$root"
}

# setup_pyverbs DIR: unpacks Pyverbs of this machine's Debian release into DIR. Its package is not installed: it depends
# on rdma-core, which brings udev and systemd, and Pyverbs needs neither.
setup_pyverbs() {
  local new python
  if [ "$(id -u)" = 0 ]; then apt-get -q -o Acquire::Retries=5 update >&2; fi
  echo "lab: getting Pyverbs (once)" >&2
  new=$(mktemp -d "$1.XXXXXX")
  mkdir "$new/files"
  (cd "$new" && apt-get -q -o Acquire::Retries=5 download python3-pyverbs) >&2 &&
    python=$(dpkg-deb -f "$new"/*.deb Depends | grep -o 'libpython3\.[0-9]*') &&
    need_packages "$python" &&
    dpkg-deb --fsys-tarfile "$new"/*.deb | tar -x -C "$new/files" ./usr/lib &&
    mv "$new/files" "$1" && rm -rf "$new" && return
  rm -rf "$new"
  echo "lab: Pyverbs could not be had: see the messages above" >&2
  return 1
}

# setup_libraries DIR SUITE: unpacks the C library and rdma-core of the Debian release SUITE into DIR, with a list of
# packages of its own: this machine's apt does not hear of that release.
setup_libraries() {
  local new apt options file
  echo "lab: getting the libraries of Debian $2 (once)" >&2
  new=$(mktemp -d "$1.XXXXXX")
  apt=$new/apt
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$new/libraries"
  : > "$apt/status"
  echo "deb $(mirror 'bookworm|trixie|stable' http://deb.debian.org/debian) $2 main" > "$apt/sources"
  options=(-q -o "Dir::Etc::sourcelist=$apt/sources" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$apt/lists"
    -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache" -o Acquire::Languages=none -o Acquire::Retries=5
    -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update >&2 &&
    (cd "$apt" && apt-get "${options[@]}" download libc6 libibverbs1 ibverbs-providers librdmacm1t64 libibumad3 \
      libnl-3-200 libnl-route-3-200 >&2 && for file in *.deb; do dpkg -x "$file" "$new/libraries" || exit; done) &&
    mv "$new/libraries" "$1" && rm -rf "$new" && return
  rm -rf "$new"
  echo "lab: the libraries of Debian $2 could not be had: see the messages above" >&2
  return 1
}
