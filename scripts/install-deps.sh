#!/bin/sh
# Installs what building needs, and says what to do where it cannot. An argument adds what a task needs: `python` for the
# tests of clients, `faults` for the tests that kill the service, `fuzz` for the fuzz targets, `docker` for the tests of the
# container, `debootstrap` for base images without a registry, `browser` for the tests of the console, `spark` for the tests on
# Apache Spark.
set -eu

missing=""
command -v cc >/dev/null 2>&1 || missing="$missing gcc libc6-dev"
command -v pkg-config >/dev/null 2>&1 || missing="$missing pkg-config"
command -v curl >/dev/null 2>&1 || missing="$missing curl ca-certificates"
if ! command -v pkg-config >/dev/null 2>&1 || ! pkg-config --exists openblas; then
    missing="$missing libopenblas-dev"
fi

case "${1-}" in
python) # Debian ships Python without the part that makes environments.
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3 python3-venv"
    ;;
faults) # The library that sets a clock for one process has no command of its own to look for.
    command -v python3 >/dev/null 2>&1 || missing="$missing python3"
    ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || missing="$missing libfaketime"
    ;;
fuzz)
    command -v c++ >/dev/null 2>&1 || missing="$missing g++"
    ;;
docker)
    command -v python3 >/dev/null 2>&1 || missing="$missing python3"
    docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null 2>&1 ||
        missing="$missing docker-compose"
    ;;
spark)
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3 python3-venv"
    command -v java >/dev/null 2>&1 || missing="$missing default-jre-headless"
    ;;
browser)
    command -v chromium >/dev/null 2>&1 || missing="$missing chromium fonts-dejavu-core"
    command -v chromedriver >/dev/null 2>&1 || missing="$missing chromium-driver"
    ;;
debootstrap)
    command -v debootstrap >/dev/null 2>&1 || missing="$missing debootstrap debian-archive-keyring"
    ;;
esac

if [ -n "$missing" ]; then
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "Please install, by this system's own means:" >&2
        echo "  a C compiler, pkg-config, curl, OpenBLAS with its headers and openblas.pc; for tests Python 3.11 or later" >&2
        echo "  Fedora: dnf install gcc pkgconf curl python3 openblas-devel" >&2
        echo "  macOS:  brew install openblas pkg-config python; export PKG_CONFIG_PATH=\$(brew --prefix openblas)/lib/pkgconfig" >&2
        exit 1
    fi
    as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            echo "Please run as root: apt-get install$missing" >&2
            exit 1
        fi
        as_root="sudo"
    fi
    echo "Installing$missing"
    $as_root apt-get update -qq
    # The list is words, not one word.
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

# Debian 12's own cargo is too old for this project; rustup brings a current one.
if ! command -v cargo >/dev/null 2>&1 && [ ! -x "$HOME/.cargo/bin/cargo" ]; then
    echo "Installing Rust with rustup"
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y -q --profile default || {
        echo "Rust could not be installed; see https://rustup.rs, then run make again." >&2
        exit 1
    }
fi
