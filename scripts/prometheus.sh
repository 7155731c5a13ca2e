#!/bin/sh
# Puts Debian's prometheus and promtool into target/docker/prometheus, without installing or starting a service. Tests
# put the dashboard and the alerts to them; where there is no apt, those tests are skipped.
set -eu
cd "$(dirname "$0")/.."
folder=target/docker/prometheus
[ ! -x "$folder/usr/bin/promtool" ] || exit 0
command -v apt-get >/dev/null 2>&1 || exit 0

mkdir -p target/docker
download=$(mktemp -d)
trap 'rm -rf "$download"' EXIT
as_root=""
[ "$(id -u)" -eq 0 ] || as_root="sudo"
(cd "$download" && { apt-get download -qq prometheus 2>/dev/null ||
    { $as_root apt-get update -qq && apt-get download -qq prometheus; }; })
dpkg-deb --extract "$download"/prometheus_*.deb "$folder"
