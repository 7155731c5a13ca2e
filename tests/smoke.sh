#!/usr/bin/env bash
# The whole path with curl alone, against a freshly started server on an empty data directory.
# Usage: tests/smoke.sh path/to/bochner
#        tests/smoke.sh --container NAME ADDRESS    a running container, published at ADDRESS
set -euo pipefail

[ "$1" = --container ] || binary=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
server=""
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null || true; rm -rf "$work"' EXIT

passed=0
fail() {
    echo "smoke: $1" >&2
    [ ! -f "$work/log" ] || tail -n 20 "$work/log" >&2
    exit 1
}
# expect WHAT TEXT PATTERN: TEXT must match the extended regular expression PATTERN.
expect() {
    grep -qE -- "$3" <<<"$2" || fail "$1: expected /$3/ in: $2"
    passed=$((passed + 1))
}
key=""
# With the key of the service, where it asks for one.
curl() {
    if [ -n "$key" ]; then command curl -H "authorization: Bearer $key" "$@"; else command curl "$@"; fi
}
if [ "$1" = --container ]; then
    container=$2
    address=$3
    bochner() { docker exec "$container" bochner "$@"; }
    start() {
        docker start "$container" >/dev/null
        curl -sS -o /dev/null --retry 50 --retry-delay 1 --retry-all-errors --fail "http://$address/readyz" ||
            fail "the container did not get ready"
        base="http://$address"
        key=$(bochner keys secret) || fail "the container made no key"
    }
    crash() { docker kill --signal KILL "$container" >/dev/null; }
    stop() {
        docker stop -t 60 "$container" >/dev/null
        [ "$(docker inspect --format '{{.State.ExitCode}}' "$container")" = 0 ]
    }
    artifact() {
        docker cp "$container:/data/artifacts" "$work/artifacts" >/dev/null
        find "$work/artifacts" -name '*.bochner' -printf '/data/artifacts/%P\n' | head -n 1
    }
else
    bochner() { BOCHNER_LISTEN=$address "$binary" "$@"; }
    start() {
        : >"$work/log"
        "$binary" serve --listen 127.0.0.1:0 --drain-delay 0 --data-dir "$work/data" --log-format json "$@" 2>"$work/log" &
        server=$!
        for _ in $(seq 200); do
            address=$(sed -n 's/.*"message":"listening","address":"\([^"]*\)".*/\1/p' "$work/log")
            [ -z "$address" ] || break
            kill -0 "$server" 2>/dev/null || fail "the server did not start"
            sleep 0.05
        done
        [ -n "$address" ] || fail "the server did not listen"
        base="http://$address"
    }
    crash() {
        kill -9 "$server"
        wait "$server" 2>/dev/null || true
    }
    stop() { kill -TERM "$server" && wait "$server" && server=""; }
    artifact() { find "$work/data/artifacts" -name '*.bochner' | head -n 1; }
fi
get() { curl -sS "$base$1"; }
status() { curl -sS -o /dev/null -w '%{http_code}' "$@"; }
json() { curl -sS -H 'content-type: application/json' "${@:2}" "$base$1"; }

start
expect "health" "$(get /livez)" '"live":true'
expect "readiness" "$(get /readyz)" '"ready":true'
expect "health check" "$(bochner healthcheck && echo healthy)" healthy
expect "version" "$(get /version)" '"name":"bochner"'
expect "limits" "$(get /api/v1/info)" '"upload_bytes":[0-9]+'
expect "contract" "$(get /openapi.yaml | sed -n 1p)" '^openapi: 3'

upload() { curl -sS -H 'content-type: text/csv' "$@" "$base/api/v1/datasets?name=houses&target=price"; }
dataset=$(upload --data-binary @examples/houses.csv)
expect "upload" "$dataset" '"rows":800,"labelled_rows":800,"target":"price"'
expect "levels" "$dataset" '"levels":\["harbour","hill","old town","station"\]'
gzip -c examples/houses.csv >"$work/houses.csv.gz"
expect "the same bytes, compressed" "$(upload -H 'content-encoding: gzip' --data-binary @"$work/houses.csv.gz")" \
    "$(grep -oE '"id":"[^"]+"' <<<"$dataset")"
expect "preview" "$(get '/api/v1/datasets/houses/preview?rows=1')" '"rows":\[\[94.9,4.0,8.0,"harbour",true,353.7\]\]'

spec='{"lambda":1e-5,"features":{"count":1024}}'
train() { json /api/v1/jobs -H 'prefer: wait=60' -d "{\"model\":\"$1\",\"dataset\":\"${3:-houses}\",\"spec\":$2}"; }
job=$(train houses "$spec")
expect "training" "$job" '"status":"succeeded"'
expect "validation R2 of at least 0.95" "$job" '"validation_r2":0\.9[5-9]'
expect "events" "$(get "/api/v1/jobs/$(sed -E 's/.*"id":"(job-[^"]+)".*/\1/' <<<"$job")/events")" '^event: state'
train houses "$spec" >/dev/null
checksums=$(get /api/v1/models/houses | grep -oE '"versions":\[.*\],"latest"' | grep -oE '"artifact_sha256":"[^"]+"')
expect "two versions, the same bit for bit" "$(sort <<<"$checksums" | uniq -c)" '^ +2 "artifact_sha256'

predict() { json /api/v1/models/houses/predict -d "$1"; }
rows=$(predict '{"rows":[[94.9,4,8,"harbour",true]]}')
expect "prediction near 353.7" "$rows" '"version":2,"predictions":\[3[345][0-9]\.[0-9]+\]'
records=$(predict '{"records":[{"area":94.9,"rooms":4,"age":8,"district":"harbour","garden":true}]}')
[ "$rows" = "$records" ] || fail "records and rows differ: $rows $records"

get /api/v1/models/houses/versions/2/onnx >"$work/houses.onnx"
expect "ONNX" "$(head -c 11 "$work/houses.onnx" | tail -c 7)" '^bochner$'
expect "what an artifact holds" "$(bochner inspect "$(artifact)")" '^targets +price$'

expect "no bound where its condition fails" "$(get /api/v1/models/houses/guarantees?all=true)" \
    '"id":"wang.theorem1".*"status":"not_applicable"'
# A bound needs a kernel and a λ that do not come from the rows that are fitted: other rows choose them.
expect "certified training" "$(train certified '{"lambda":"certified","design_fraction":0.2}')" '"status":"succeeded"'
expect "a bound that applies" "$(get '/api/v1/models/certified/guarantees?id=bochner.theorem1_relative&delta=0.05')" \
    '"status":"(conditional|vacuous)".*"probability":0.95'
expect "a bound that says something" "$(get '/api/v1/models/certified/guarantees?id=bochner.certificate_tolerance')" \
    '"status":"conditional".*"probability":0.95'
guarantees=$(get '/api/v1/models/certified/guarantees?all=true&delta=0.05')
expect "the closed form" "$guarantees" '"id":"wang.remark1".*"value":[0-9.]+'
expect "a measured error next to it" "$guarantees" '"exact_krr_error":[0-9.]+'

csv=(-H 'content-type: text/csv')
expect "a ragged line" "$(curl -sS "${csv[@]}" --data-binary $'a,b\n1,2\n3\n' "$base/api/v1/datasets")" 'line 3'
expect "an unknown field" "$(train m '{"lamda":1}')" "did you mean 'lambda'"
expect "a path in a name" "$(status --path-as-is "$base/api/v1/models/..%2F..%2Fetc")" 422
expect "a wrong path" "$(status "$base/nowhere")" 404
expect "a wrong method" "$(status -X PUT "$base/api/v1/jobs")" 405
expect "metrics" "$(get /metrics)" 'bochner_predicted_rows_total\{model="houses",version="2"\} 2'

crash
start
[ "$(predict '{"rows":[[94.9,4,8,"harbour",true]]}')" = "$rows" ] || fail "the prediction changed over a kill -9"
expect "data sets survive" "$(get /api/v1/datasets)" '"name":"houses"'
expect "deleting" "$(status -X DELETE "$base/api/v1/models/houses")" 204
stop || fail "SIGTERM did not end in exit code 0"

# With keys; a container has them from the start.
if [ -z "$key" ]; then
    keys=$work/keys.json
    key=$("$binary" keys new --file "$keys" --scopes read 2>"$work/explanation")
    expect "a key explained" "$(cat "$work/explanation")" 'read +look at datasets'
    start --api-keys-file "$keys"
    expect "a key" "$(status "$base/api/v1/models")" 200
    expect "a missing scope" "$(status -X POST "$base/api/v1/jobs")" 403
    key=""
    expect "no key" "$(curl -sS -o /dev/null -D - "$base/api/v1/models")" 'www-authenticate: Bearer'
    expect "health without a key" "$(status "$base/readyz")" 200
    stop || fail "SIGTERM did not end in exit code 0"
fi

echo "smoke: $passed passed, 0 failed"
