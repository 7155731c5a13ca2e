#!/bin/sh
# Runs every fuzz target, or those that are named, for so many seconds each: run.sh SECONDS [TARGET...]
# The stable compiler is enough: coverage is a pass of LLVM's, and libFuzzer comes with libfuzzer-sys.
# A finding is written to fuzz/artifacts/TARGET; what was learned stays in fuzz/grown, and is not committed.
set -eu
cd "$(dirname "$0")"

seconds=${1:-20}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- csv json ndjson arrow scoring frame artifact query keys cells upload

host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=4" \
    cargo build --locked --release --target "$host" --quiet

for target in "$@"; do
    mkdir -p "artifacts/$target" "grown/$target"
    printf '%s: ' "$target"
    # The log of the service goes where the log of libFuzzer goes, and only its end is of interest.
    if ! "target/$host/release/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="artifacts/$target/" "grown/$target" "corpus/$target" >"artifacts/$target.log" 2>&1; then
        tail -n 40 "artifacts/$target.log"
        exit 1
    fi
    sed -n 's/^stat::number_of_executed_units: */executed /p' "artifacts/$target.log"
done
