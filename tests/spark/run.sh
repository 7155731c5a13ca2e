#!/bin/sh
# Tests on Apache Spark: `run.sh BINARY short` for `make test`, `run.sh BINARY all` for `make test-spark`. Installs Java and pyspark
# where they are missing; says so in one line where they cannot be had.
set -eu
binary=$1
home=target/spark

skip() {
    echo "SKIPPED: $1, so that nothing was tested on Apache Spark"
    [ "$2" = short ] || exit 1
    exit 0
}

sh scripts/install-deps.sh spark || skip "a Java runtime cannot be installed" "$2"
command -v java >/dev/null 2>&1 || skip "there is no Java runtime" "$2"
if ! cmp -s tests/spark/requirements.txt "$home/installed"; then
    python3 -m venv --clear "$home"
    "$home/bin/pip" install --quiet --disable-pip-version-check --requirement tests/spark/requirements.txt ||
        skip "pyspark cannot be installed" "$2"
    cp tests/spark/requirements.txt "$home/installed"
fi
cargo test --locked --no-run --quiet # both programs as the tests built them
case $2 in
short) set -- -m "not long" ;;
all)
    sh scripts/build-worker.sh debug # compiles the crate once more
    set --
    ;;
esac
# Spark looks for the address of this machine by its name, which need not have one.
SPARK_LOCAL_IP=127.0.0.1 BOCHNER_BINARY=$binary BOCHNER_WORKER=target/debug/bochner-worker "$home/bin/python" -B -m pytest --quiet -rs -p no:cacheprovider "$@" tests/spark
