# shellcheck shell=bash
# The AOT cache: the commands' classes in the form that the JVM loads fastest, which halves a start. The launchers
# source this.
#
# Nothing here prints anything or fails: a command without a cache only starts slower.

# The program whose classes the cache keeps; ./ibtool sets its own.
aot_run=(org.kverbs.cli.TrainingKt)

# A cache of another JDK, say, is nothing to tell of.
aot_quiet='-Xlog:cds*=off,aot*=off'

# For commands that are over before the second compiler and a parallel collector repay what they cost.
jvm_of_short=(-XX:TieredStopAtLevel=1 -XX:+UseSerialGC)

# is_short COMMAND: is it one of these, and has the user named no other collector? A JVM takes one, and reads options
# from two variables of its own besides.
is_short() {
  [[ "${KVERBS_JAVA_OPTIONS:-} ${JAVA_TOOL_OPTIONS:-} ${JDK_JAVA_OPTIONS:-}" != *-XX:+Use*GC* ]] || return 1
  case $1 in
    devices | devinfo | help | completion | new | '' | -*) return 0 ;;
    *) return 1 ;;
  esac
}

# aot_cache FOLDER JDK JAR...: sets cache to the file in FOLDER for these jars, or to nothing if one of them can't be
# read. A JDK 25 does not notice that a jar was rebuilt, and runs the old classes of its cache. So the name has a
# checksum of the jars and of the JDK's version. A file beside it keeps the checksum with the jars' times and sizes, as
# to read all of them takes longer than to find the JDK and the sources.
aot_cache() {
  local sum files known='' sums=$1/jars.sum
  cache=''
  files=$(stat -L -c '%n %s %i %y %z' "$2/release" "${@:3}" 2>/dev/null) || return 0
  if [ -r "$sums" ]; then read -r -d '' known < "$sums" || true; fi
  if [ "${known#*$'\n'}" = "$files" ]; then
    sum=${known%%$'\n'*}
  else
    sum=$(set -o pipefail; cat "$2/release" "${@:3}" 2>/dev/null | cksum) || return 0
    {
      mkdir -p "$1" && printf '%s\n%s' "$sum" "$files" > "$sums.$BASHPID" && mv -f "$sums.$BASHPID" "$sums" ||
        rm -f "$sums.$BASHPID"
    } 2>/dev/null || true
  fi
  cache=$1/kverbs-${sum// /-}.aot
}

# make_aot_cache JAR JAVA OPTION...: makes it by a run of aot_run from JAR, and deletes those of older jars. An empty
# file says that this JVM would not make one: it ended well and left none that it takes. A run that failed, as on a full
# disc, leaves nothing, and the next command tries again. A full disc can leave a part of a cache, so that a JVM must
# take it first. It can also end the second JVM that makes the cache out of what the first one saw: the first then ends
# well and leaves that in a file beside the cache.
make_aot_cache() {
  local new=$cache.$BASHPID old ended=0
  [ -n "$cache" ] && mkdir -p "${cache%/*}" && [ -w "${cache%/*}" ] || return 0
  # On devices that nobody else sees: one that speaks UDP would take an address.
  KVERBS_EMBEDDED=memory,memory "${@:2}" "-XX:AOTCacheOutput=$new" -cp "$1" "${aot_run[@]}" || ended=$?
  "${@:2}" "-XX:AOTCache=$new" -XX:AOTMode=on -cp "$1" -version || rm -f "$new"
  [ -f "$new" ] || [ -f "$new.config" ] || [ "$ended" != 0 ] || : > "$new"
  [ ! -f "$new" ] || mv -f "$new" "$cache" || true # in one step, for those who start at the same time
  rm -f "$new" "$new.config"
  for old in "${cache%/*}"/kverbs-*.aot; do
    [ "$old" = "$cache" ] || rm -f "$old"
  done
  # Those of runs that were killed.
  find "${cache%/*}" \( -name 'kverbs-*.aot.*' -o -name 'jars.sum.*' \) -mmin +60 -delete || true
} </dev/null >/dev/null 2>&1
