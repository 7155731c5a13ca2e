#!/bin/sh
# Builds the image from docker/Dockerfile, and beside it target/docker/bochner.debug, the symbols of its binary.
# Usage: scripts/build-image.sh [tag]
set -eu
cd "$(dirname "$0")/.."
tag=${1:-bochner:local}

sh scripts/base-image.sh

# Crates come from this machine, with its settings and its cache, so that the build itself needs no access to crates.io.
# The archive is the same, byte for byte, for the same Cargo.lock: the layer of compiled crates stays cached.
archive=docker/crates.tar.gz
if [ ! -f "$archive" ] || [ Cargo.lock -nt "$archive" ]; then
    echo "Collecting crates"
    crates=target/docker/crates
    rm -rf "$crates"
    mkdir -p "$crates/.cargo"
    cargo vendor --quiet --locked "$crates/vendor" >/dev/null
    cat >"$crates/.cargo/config.toml" <<'END'
[source.crates-io]
replace-with = "vendored-sources"

[source.vendored-sources]
directory = "vendor"
END
    tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --directory="$crates" .cargo vendor |
        gzip -n >"$archive.new"
    mv "$archive.new" "$archive"
    rm -rf "$crates"
fi

# The host's network and proxies serve the build; nothing of them stays in the image.
mkdir -p target/docker
log=target/docker/build.log
build() {
    for proxy in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
        eval "value=\${$proxy-}"
        # shellcheck disable=SC2154 # set by eval
        [ -z "$value" ] || set -- --build-arg "$proxy" "$@"
    done
    docker build --network host --file docker/Dockerfile "$@" . >>"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        exit 1
    }
}
echo "Building $tag, which takes minutes where sources have changed; see $log"
: >"$log"
before=$(docker image inspect --format '{{.Id}}' bochner:build 2>/dev/null || true)
build --target build --tag bochner:build
build --tag "$tag"

container=$(docker create bochner:build true)
trap 'docker rm "$container" >/dev/null' EXIT
docker cp "$container:/out/bochner.debug" target/docker/bochner.debug >/dev/null

# The stage that this build replaces would stay on the disk, without a name.
after=$(docker image inspect --format '{{.Id}}' bochner:build)
[ -z "$before" ] || [ "$before" = "$after" ] || docker image rm "$before" >/dev/null 2>&1 || true
echo "Built $tag; the symbols of its binary are in target/docker/bochner.debug"
