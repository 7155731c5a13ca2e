#!/bin/sh
# Lets promtool check the names and help of metrics. It reads Prometheus' older text format, which has neither units nor an
# end mark, and has counters under the name of their series.
set -eu
cd "$(dirname "$0")/.."

awk '
    /^# EOF/ || /^# UNIT / { next }
    /^# HELP / { help[$3] = $0; next }
    /^# TYPE / {
        name = $3
        if ($4 == "counter") { sub(name, name "_total", help[name]); $3 = name "_total" }
        print help[name]
        print
        next
    }
    { print }
' "$1" | target/docker/prometheus/usr/bin/promtool check metrics
echo "promtool has no complaint about $1"
