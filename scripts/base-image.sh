#!/bin/sh
# Makes sure that the engine has the base image of docker/Dockerfile: it is there, it is pulled, or, where no registry
# answers, a stand-in of the same tag is made from Debian's packages and this machine's Rust toolchain.
set -eu
cd "$(dirname "$0")/.."

image=$(sed -n 's/^FROM \(rust:[^ ]*\).*/\1/p' docker/Dockerfile)
if docker image inspect "$image" >/dev/null 2>&1; then
    exit 0
fi
echo "Pulling $image"
if docker pull --quiet "$image" 2>/dev/null; then
    exit 0
fi

version=${image#rust:}
version=${version%%-*}
suite=${image##*-}
echo "No registry answers: making a stand-in for $image from Debian's packages and Rust $version of this machine"
sh scripts/install-deps.sh debootstrap
as_root=""
[ "$(id -u)" -eq 0 ] || as_root="sudo"

rustup toolchain list | grep -q "^$version-" || rustup toolchain install "$version" --profile minimal
toolchain=$(rustc "+$version" --print sysroot)

# apt's settings of this machine (a proxy, say) hold inside the stand-in too.
eval "$(apt-config shell proxy Acquire::http::Proxy)"
[ -z "${proxy-}" ] || export http_proxy="$proxy"
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

mkdir -p target/docker/packages
root=$(mktemp -d "$PWD/target/docker/root.XXXXXX")
trap '$as_root rm -rf "$root"' EXIT
$as_root env http_proxy="${http_proxy-}" debootstrap --variant=minbase --include=ca-certificates,gcc,libc6-dev \
    --cache-dir="$PWD/target/docker/packages" "$suite" "$root" "$mirror" >target/docker/debootstrap.log ||
    { tail -n 20 target/docker/debootstrap.log >&2; exit 1; }

$as_root tee "$root/etc/apt/sources.list" >/dev/null <<END
deb $mirror $suite main
deb $mirror $suite-updates main
deb $mirror-security $suite-security main
END
apt-config dump | grep '^Acquire::' | $as_root tee "$root/etc/apt/apt.conf.d/90host" >/dev/null
$as_root rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/archives/*.deb "$root"/usr/share/man \
    "$root"/usr/share/locale
$as_root find "$root/usr/share/doc" -type f ! -name copyright -delete

home=$root/usr/local/rustup/toolchains/$version
$as_root mkdir -p "$home/bin" "$root/usr/local/cargo/bin"
$as_root cp -a "$toolchain/lib" "$home/"
for tool in cargo rustc; do
    $as_root cp -a "$toolchain/bin/$tool" "$home/bin/"
    $as_root ln -s "/usr/local/rustup/toolchains/$version/bin/$tool" "$root/usr/local/cargo/bin/$tool"
done

$as_root tar --create --one-file-system --directory="$root" . | docker import \
    --change 'ENV PATH=/usr/local/cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
    --change 'ENV CARGO_HOME=/usr/local/cargo' \
    --change 'LABEL org.opencontainers.image.description="A stand-in made without a registry"' \
    --message "Stand-in for $image" - "$image" >/dev/null
echo "Made $image; remove it with docker image rm $image to pull the real one"
