# shellcheck shell=bash disable=SC2154
# Builds what measurements of calls need in C; benchmarks/run and benchmarks/bench source this.

# build_null FOLDER: builds libnullverbs, whose queues move no data, and the loops on it. Needs root, and gcc.
build_null() {
  local flags=(-Wall -Wextra -Werror -O2)
  gcc "${flags[@]}" -shared -fPIC -o "$1/libnullverbs.so" "$root"/core-java/src/test/c/*.c
  # shellcheck disable=SC2016  # $ORIGIN is for the dynamic linker
  gcc "${flags[@]}" -o "$1/loops" "$root/benchmarks/src/main/c/loops.c" -L"$1" -lnullverbs -Wl,-rpath,'$ORIGIN'
}
