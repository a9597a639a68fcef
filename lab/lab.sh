#!/bin/bash
# Runs one command in a virtual machine whose kernel has software RDMA devices: Soft-RoCE (rxe) and soft-iWARP (siw).
#
#   lab.sh 'COMMAND'     boots (about 5 s), runs COMMAND, prints its standard output and error, exits with its status
#   lab.sh --setup       installs the lab's packages (as root), makes its kernel and gets Pyverbs; otherwise the first
#                        command does that
#   lab.sh --help        prints this
#
# There is no disk image: the guest's root is this machine's file system, read-only under a layer in memory. So the JDK,
# the libraries, the classes and the working directory have the same paths as here. Besides, /usr/bin/python3 finds
# Pyverbs. Only files that the command writes to /lab are kept. The command runs as root under bash in the caller's
# directory, has the caller's PATH, HOME, JAVA_HOME and KVERBS_* variables, and finds:
#   rxe0  10.99.0.1              RC, UC, UD, SRQ, memory windows, atomics, multicast, rdma_cm
#   siw0  10.97.0.1              RC by rdma_cm only
#   rxe1  10.98.0.1 on v1        two ends of a wire: real packets, for tc netem and tcpdump on v1 and v2
#   rxe2  10.98.0.2 on v2
#
# Exit status: the command's; 124 if KVERBS_LAB_TIMEOUT passed; 125 if the guest died or could not be set up.
#
#   KVERBS_LAB_OUT=DIR           the folder that is /lab in the guest; default: a temporary one
#   KVERBS_LAB_TIMEOUT=1800      the time limit in seconds
#   KVERBS_LAB_MEM=4G            the guest's memory
#   KVERBS_LAB_DIR=DIR           the folder of the kernel; default: .cache/lab of the project
#   KVERBS_LAB_KERNEL=PACKAGE    the Debian package of the kernel; default: linux-image-amd64
#   KVERBS_LAB_LIBRARIES=SUITE   the Debian release whose C library and rdma-core the guest gets in place of this
#                                machine's, such as trixie; default: this machine's
#
# The lab does not use KVM: many machines do not offer it, and without it the lab behaves the same on all.
set -euo pipefail
here=$(readlink -f "$0")
here=${here%/*}
PATH=$PATH:/usr/sbin:/sbin
# shellcheck source=host.sh
. "$here/host.sh"
# shellcheck source=setup.sh
. "$here/setup.sh"

state=${KVERBS_LAB_DIR:-$here/../.cache/lab}
package=${KVERBS_LAB_KERNEL:-linux-image-amd64}
suite=${KVERBS_LAB_LIBRARIES:-}

# boot KERNEL RUN OUT: starts the machine in the background; its output goes to RUN/output, its console to RUN/console.
# The CPU has no pclmulqdq: QEMU (7.2) multiplies bit by bit, so that a CRC-32 with it takes several times as long as
# with the tables that the kernel and the JVM use on CPUs without it.
boot() {
  timeout --foreground -k 10 "${KVERBS_LAB_TIMEOUT:-1800}" qemu-system-x86_64 \
    -nodefaults -no-user-config -display none -no-reboot -M q35 \
    -accel tcg,thread=multi -cpu max,-pclmulqdq -smp 2 -m "${KVERBS_LAB_MEM:-4G}" \
    -kernel "$1/boot/vmlinuz-$(cat "$1/release")" -initrd "$1/initrd" \
    -append "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nokaslr tsc=reliable random.trust_cpu=on" \
    -serial "file:$2/console" -device virtio-rng-pci \
    -virtfs local,path=/,mount_tag=hostroot,security_model=none,readonly=on,multidevs=remap \
    -virtfs "local,path=$3,mount_tag=share,security_model=none,multidevs=remap" \
    -device virtio-serial-pci -chardev "file,id=output,path=$2/output" -device virtserialport,nr=1,chardev=output \
    </dev/null 9>&- &
}

# run KERNEL COMMAND: runs COMMAND and sets status.
run() {
  local out qemu cat
  out=${KVERBS_LAB_OUT:-$scratch/out}
  mkdir -p "$out"
  out=$(readlink -f "$out")
  rm -rf "$out/.lab" && mkdir "$out/.lab"
  cp "$here/guest" "$out/.lab/guest"
  cp -r "$pyverbs" "$out/.lab/libraries"
  [ -z "$suite" ] || cp -r "$libraries/." "$out/.lab/libraries"
  printf '%s\n' "$2" > "$out/.lab/command"
  export KVERBS_IN_LAB=1 LAB_MODULES=$1/lib/modules LAB_CWD=$PWD LC_ALL=${LC_ALL:-C.UTF-8} HOME=${HOME:-/root} PATH
  declare -p LAB_MODULES LAB_CWD LC_ALL HOME PATH ${JAVA_HOME+JAVA_HOME} "${!KVERBS_@}" > "$out/.lab/env"
  # Descriptor 9 keeps the FIFO open, so that cat ends even if qemu never starts.
  mkfifo "$scratch/output"
  exec 9<>"$scratch/output"
  cat "$scratch/output" 9>&- &
  cat=$!
  boot "$1" "$scratch" "$out"
  qemu=$!
  trap 'kill $qemu; status=130' INT
  trap 'kill $qemu; status=143' TERM
  status=0
  wait $qemu || status=$((status ? status : $?))
  trap - INT TERM
  exec 9>&-
  wait $cat || true
  if [ "$status" = 0 ] && ! status=$(cat "$out/.lab/status" 2>/dev/null); then # the machine ended without a status
    status=125
    echo "lab: the guest died; the end of its console:" >&2
    tail -40 "$scratch/console" >&2
  elif [ "$status" = 124 ]; then
    echo "lab: stopped after KVERBS_LAB_TIMEOUT=${KVERBS_LAB_TIMEOUT:-1800} s" >&2
  fi
  rm -rf "$out/.lab"
}

usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$here/lab.sh"; }

case ${1:-} in
  -h | --help)
    usage
    exit 0
    ;;
esac
# A command never begins with a dash; a wrong option does.
if [ $# != 1 ] || [ -z "$1" ] || { [ "${1#-}" != "$1" ] && [ "$1" != --setup ]; }; then
  usage >&2
  exit 2
fi
# The name becomes a folder that the set-up removes and makes anew, so a path is refused.
case $package in
  *[!a-z0-9+.-]* | [!a-z0-9]*)
    echo "lab: KVERBS_LAB_KERNEL=$package is not the name of a package" >&2
    exit 2
    ;;
esac
case $suite in
  *[!a-z]*)
    echo "lab: KVERBS_LAB_LIBRARIES=$suite is not the name of a Debian release" >&2
    exit 2
    ;;
esac
need_packages "${lab_packages[@]}" || exit 125
mkdir -p "$state"
state=$(readlink -f "$state")
kernel=$state/$package
libraries=$state/libraries-$suite
pyverbs=$state/pyverbs
(
  flock 8
  if [ ! -f "$kernel/release" ]; then
    setup "$kernel" "$package" || exit
  elif [ "$here/init" -nt "$kernel/initrd" ]; then
    make_initramfs "$kernel" "$(cat "$kernel/release")" || exit
  fi
  [ -d "$pyverbs" ] || setup_pyverbs "$pyverbs" || exit
  [ -z "$suite" ] || [ -d "$libraries" ] || setup_libraries "$libraries" "$suite"
) 8>"$state/lock" || exit 125
[ "$1" != --setup ] || exit 0
scratch=$(mktemp -d "$state/run.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
run "$kernel" "$1"
exit "$status"
