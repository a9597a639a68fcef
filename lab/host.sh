# shellcheck shell=bash
# Finds the JDK and the Debian packages that the project's programs need. Sourced by ../kverbs, ../verify and lab.sh.

# The lab's packages: the machine, the parts of its boot, and the libraries and C programs that the specs use.
# shellcheck disable=SC2034  # used by the scripts that source this
lab_packages=(qemu-system-x86 busybox-static kmod iproute2 xz-utils libibverbs1 ibverbs-providers librdmacm1 ibverbs-utils
  rdmacm-utils perftest python3)

# JVMs in the lab get this flag. When the JVM's second compiler replaces a method, the JVM patches a jump over the
# method's entry while another CPU may execute it. A real CPU reads that instruction atomically; QEMU's emulated CPUs
# read it byte by byte, so that 4 of 120 JVMs crashed at their start (QEMU 7.2 and 10.0). The first compiler replaces no
# method: with it alone, none of 120 JVMs crashed. shellcheck disable=SC2034
guest_java=-XX:TieredStopAtLevel=1

# answer_help SCRIPT ARGUMENT...: if the first ARGUMENT asks for help, prints the comment at SCRIPT's top and exits.
answer_help() {
  case ${2:-} in
    -h | --help)
      sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$1"
      exit 0
      ;;
  esac
}

# need_packages NAME...: makes sure that Debian packages are installed. Root installs missing ones by apt; other users
# get their names.
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

# sources: prints the package sources of this machine's apt, one line each: address and suite.
sources() {
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ ! -f "$file" ] || sed 's/\[[^]]*\]//' "$file" | awk '$1 == "deb" && / main/ { print $2, $3 }'
  done
  for file in /etc/apt/sources.list.d/*.sources; do
    [ ! -f "$file" ] || awk -v RS= '{
      address = suites = main = ""
      for (n = split($0, line, "\n"); n; n--) {
        split(line[n], word, " ")
        if (word[1] == "URIs:") address = word[2]
        if (word[1] == "Suites:") { suites = line[n]; sub(/^[^:]*: */, "", suites) }
        if (word[1] == "Components:") main = line[n] ~ / main/
      }
      if (main) for (n = split(suites, word, " "); n; n--) print address, word[n]
    }' "$file"
  done
}

# mirror SUITE ELSE: prints the address of SUITE (a pattern) on this machine's mirror, or ELSE.
mirror() {
  sources | awk -v suite="^($1)/?\$" -v other="$2" '$1 ~ /debian/ && $2 ~ suite { print $1; found = 1; exit } END { if (!found) print other }'
}

# is_jdk_25 DIR: reads the JDK's release file, which is faster than running its java. It starts no process.
is_jdk_25() {
  local release version=$'\nJAVA_VERSION="25["._+-]'
  [ -x "$1/bin/javac" ] && [ -r "$1/release" ] || return 1
  read -r -d '' release < "$1/release" || true
  [[ $'\n'$release =~ $version ]]
}

# find_jdk: sets jdk to the home of a JDK 25.
find_jdk() {
  local candidate
  if [ -n "${KVERBS_JAVA_HOME:-}" ] && ! is_jdk_25 "$KVERBS_JAVA_HOME"; then
    echo "KVERBS_JAVA_HOME is $KVERBS_JAVA_HOME, which has no JDK 25: set it to the home of a JDK 25, or unset it." >&2
    return 1
  fi
  for jdk in "${KVERBS_JAVA_HOME:-}" "${JAVA_HOME:-}" "${JAVA25_HOME:-}" /usr/lib/jvm/*; do
    if [ -n "$jdk" ] && is_jdk_25 "$jdk"; then return 0; fi
  done
  candidate=$(command -v java) && candidate=$(readlink -f "$candidate")
  jdk=${candidate%/bin/java}
  if [ -n "$jdk" ] && is_jdk_25 "$jdk"; then return 0; fi
  echo "kverbs needs a JDK 25: install one under /usr/lib/jvm, or set KVERBS_JAVA_HOME to its home." >&2
  return 1
}
