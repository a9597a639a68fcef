# shellcheck shell=bash
# The AOT cache: the commands' classes in the form that the JVM loads fastest, which halves a start. The launchers
# source this.
#
# Nothing here prints anything or fails: a command without a cache only starts slower.

# The command whose classes the cache keeps; ./ibtool sets its own.
aot_run=(pingpong --device embedded0 --iters 100 --warm-up 10)

# A cache of another JDK, say, is nothing to tell of.
aot_quiet='-Xlog:cds*=off,aot*=off'

# aot_cache FOLDER JDK JAR...: sets cache to the file in FOLDER for these jars, or to nothing if one of them can't be
# read. A JDK 25 does not notice that a jar was rebuilt, and runs the old classes of its cache. So the name has a
# checksum of the jars and of the JDK's version.
aot_cache() {
  local sum
  cache=''
  sum=$(set -o pipefail; cat "$2/release" "${@:3}" 2>/dev/null | cksum) || return 0
  cache=$1/kverbs-${sum// /-}.aot
}

# make_aot_cache JAVA...: makes it by a run of aot_run with JAVA, and deletes those of older jars. An empty file
# says that this JVM would not make one.
make_aot_cache() {
  local new=$cache.$BASHPID old
  [ -n "$cache" ] && mkdir -p "${cache%/*}" && [ -w "${cache%/*}" ] || return 0
  # On devices that nobody else sees: one that speaks UDP would take an address.
  KVERBS_EMBEDDED=memory,memory "$1" "-XX:AOTCacheOutput=$new" "${@:2}" "${aot_run[@]}" || true
  [ -f "$new" ] || : > "$new"
  mv -f "$new" "$cache" || true # in one step, for those who start at the same time
  rm -f "$new.config"
  for old in "${cache%/*}"/kverbs-*.aot; do
    [ "$old" = "$cache" ] || rm -f "$old"
  done
  find "${cache%/*}" -name 'kverbs-*.aot.*' -mmin +60 -delete || true # of runs that were killed
} </dev/null >/dev/null 2>&1
