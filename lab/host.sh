# shellcheck shell=bash
# What the project's programs need of this machine. Sourced by ../kverbs, ../verify and lab.sh.

# What the lab needs: the machine, what its boot is made of, and the libraries and C programs that its specs talk to.
# shellcheck disable=SC2034  # for those who source this
lab_packages=(qemu-system-x86 busybox-static kmod iproute2 xz-utils libibverbs1 ibverbs-providers librdmacm1 ibverbs-utils
  rdmacm-utils perftest)

# JVMs in the lab get this flag. A jump is patched over the entry of a method when the second compiler has replaced it, while another CPU
# may enter it; a real CPU reads that instruction whole or not at all, QEMU's emulated ones byte by byte, and so 4 of 120 JVMs crashed at
# their start (QEMU 7.2 and 10.0). With the first compiler alone nothing is replaced, and none of 120 did.
# shellcheck disable=SC2034
guest_java=-XX:TieredStopAtLevel=1

# answer_help SCRIPT ARGUMENT...: where the first ARGUMENT asks for help, prints the comment at SCRIPT's top and ends.
answer_help() {
  case ${2:-} in
    -h | --help)
      sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$1"
      exit 0
      ;;
  esac
}

# need_packages NAME...: Debian packages that must be there. Root gets the missing ones by apt, anybody else gets their names.
need_packages() {
  local missing
  missing=$({
    printf '%s\n' "$@"
    dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | awk '$2 == "installed" { print "-" $1 }'
  } | awk '/^-/ { have[substr($0, 2)] = 1; next } { want[++n] = $1 }
      END { for (i = 1; i <= n; i++) if (!(want[i] in have)) printf "%s%s", sep, want[i], sep = " " }')
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    echo "Missing Debian packages; as root: apt-get install --no-install-recommends $missing" >&2
    return 1
  fi
  echo "Installing Debian packages: $missing" >&2
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086  # a list of words
  apt-get -q -o Acquire::Retries=5 update >&2 && apt-get -yq -o Acquire::Retries=5 install --no-install-recommends $missing >&2
}

# is_jdk_25 DIR: by the file that every JDK has at its top, which is faster than asking its java.
is_jdk_25() {
  [ -x "$1/bin/javac" ] && [ -r "$1/release" ] && grep -Eq '^JAVA_VERSION="25["._+-]' "$1/release"
}

# find_jdk: sets jdk to the home of a JDK 25.
find_jdk() {
  local candidate
  if [ -n "${KVERBS_JAVA_HOME:-}" ] && ! is_jdk_25 "$KVERBS_JAVA_HOME"; then
    echo "KVERBS_JAVA_HOME is $KVERBS_JAVA_HOME, and there is no JDK 25 there." >&2
    return 1
  fi
  candidate=$(command -v java) && candidate=$(readlink -f "$candidate")
  for jdk in "${KVERBS_JAVA_HOME:-}" "${JAVA_HOME:-}" "${JAVA25_HOME:-}" /usr/lib/jvm/* "${candidate%/bin/java}"; do
    if [ -n "$jdk" ] && is_jdk_25 "$jdk"; then return 0; fi
  done
  echo "kverbs needs a JDK 25: install one under /usr/lib/jvm, or set KVERBS_JAVA_HOME to where it is." >&2
  return 1
}
