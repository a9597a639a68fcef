# shellcheck shell=bash disable=SC2154
# Builds what a launcher runs; ./kverbs and ./ibtool read this. Needs root, the project's folder, and jdk.

# build_program NAME FOLDER MODULE...: builds the last module with those before it, unless all is there and up to date.
# NAME stands in what it says, which goes to standard error. The build has copied libraries to each FOLDER, a list.
build_program() {
  local name=$1 module=${*: -1}
  local folders=$2 modules=("${@:3}") built=$root/.cache/built-$module
  ! is_built || return 0
  if ! command -v mvn >/dev/null; then
    echo "$name: Maven is needed to build it; as root: apt-get install maven" >&2
    return 1
  fi
  if ! mkdir -p "$root/.cache" 2>/dev/null || ! [ -w "$root/.cache" ]; then
    echo "$name: it is built in its own folder, and this user can't write to $root: take a copy, or build it as its owner" >&2
    return 1
  fi
  (
    flock 8
    if is_built; then exit 0; fi # another one has built it meanwhile
    if [ -e "$built" ]; then
      echo "$name: building what is missing or older than its sources" >&2
    else
      echo "$name: building for the first time: Maven downloads libraries and compiles, which takes a few minutes" >&2
    fi
    touch "$built.new"
    libraries=()
    if ! mkdir -p "$(home)/.m2" 2>/dev/null; then
      libraries=("-Dmaven.repo.local=$root/.cache/m2")
      echo "$name: $(home) can't be written, so Maven's libraries go to $root/.cache/m2" >&2
    fi
    JAVA25_HOME=$jdk mvn -B -q "${libraries[@]}" -f "$root/pom.xml" -pl "$module" -am -Dmaven.test.skip package 8>&- </dev/null >&2 || {
      echo "$name: the build failed; mvn package in $root says more" >&2
      exit 1
    }
    mv "$built.new" "$built"
  ) 8>"$root/.cache/build.lock"
}

# is_built: is every module's jar there, and newer than its sources and than those of the modules before it? Maven keeps
# a jar's time if its bytes have not changed, so no source after the start of the last build here will do, too. That is
# one look at all sources; when it tells of a newer one, each module is looked at, as Maven can have built it.
is_built() {
  local each jar newest sources=("$root/pom.xml") jars=()
  for each in $folders; do [ -d "$root/$module/target/$each" ] || return 1; done
  for each in "${modules[@]}"; do
    case $each in
      core-java) jar=kverbs-core ;;
      diagnostics) jar=kverbs-ibtool ;;
      *) jar=kverbs-$each ;;
    esac
    jars+=("$root/$each/target/$jar.jar")
    [ -f "${jars[-1]}" ] || return 1
    sources+=("$root/$each/pom.xml" "$root/$each/src/main")
  done
  if [ -e "$built" ] && [ -z "$(find "${sources[@]}" -newer "$built" -print -quit)" ]; then return 0; fi

  # What is found now holds for what was written before now.
  touch "$built.seen.$BASHPID" 2>/dev/null || true
  sources=("$root/pom.xml")
  for each in "${!modules[@]}"; do
    jar=${jars[each]}
    sources+=("$root/${modules[each]}/pom.xml" "$root/${modules[each]}/src/main")
    newest=$jar
    [ ! "$built" -nt "$jar" ] || newest=$built
    if [ -n "$(find "${sources[@]}" -newer "$newest" -print -quit)" ]; then
      rm -f "$built.seen.$BASHPID"
      return 1
    fi
  done
  mv "$built.seen.$BASHPID" "$built" 2>/dev/null || true
}

# home: this user's folder as Java finds it: by the entry in passwd, and by HOME for a user without one.
home() { (
  fallback=${HOME:-/}
  unset HOME
  home=~
  if [ "$home" = / ]; then echo "$fallback"; else echo "$home"; fi
); }
