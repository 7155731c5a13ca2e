#!/bin/sh
# Builds bochner-worker, the program that executors of a cluster run, as one file that needs no library of the system, and checks
# that it is that: target/release/bochner-worker, or target/debug/bochner-worker with the argument debug.
#
# The crate is compiled as for the service, and an empty archive takes the place of OpenBLAS: what a pass does not reach is not
# linked, so that nobody misses it. A call from a pass into BLAS is an undefined symbol here.
set -eu
cd "$(dirname "$0")/.."
case ${1:-release} in
release) built=target/release/bochner-worker && set -- --release ;;
debug) built=target/debug/bochner-worker && set -- ;;
*) echo "usage: $0 [release|debug]" >&2 && exit 2 ;;
esac
empty=$PWD/target/worker
mkdir -p "$empty"
rm -f "$empty/libopenblas.a"
ar rc "$empty/libopenblas.a"
cargo rustc --quiet --locked "$@" --bin bochner-worker -- -C target-feature=+crt-static -L "native=$empty"
if ! ldd "$built" 2>&1 | grep -q -e 'statically linked' -e 'not a dynamic executable'; then
    echo "$built is not static:" >&2
    ldd "$built" >&2
    exit 1
fi
if nm "$built" | grep -i -m 5 -e openblas -e ' cblas_' -e ' lapack' -e ' d[a-z]*_$' >&2; then
    echo "$built holds BLAS, as the symbols above show" >&2
    exit 1
fi
strip --strip-debug "$built" # the symbols of backtraces stay
echo "Built $built: $(($(stat --format %s "$built") / 1000000)) MB, static"
