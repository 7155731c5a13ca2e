#!/bin/sh
# Builds the image, deploys it and tests it. Skips everything, and says so, where no Docker engine answers.
set -eu
cd "$(dirname "$0")/../.."

if ! docker info >/dev/null 2>&1; then
    echo "SKIPPED: no Docker engine answers, so the container image was neither built nor tested"
    exit 0
fi
sh scripts/install-deps.sh docker
sh scripts/build-image.sh bochner:local
sh scripts/prometheus.sh

# A tag of our own: another build may move bochner:local meanwhile.
export BOCHNER_IMAGE="bochner:test-$$"
docker tag bochner:local "$BOCHNER_IMAGE"
trap 'docker image rm "$BOCHNER_IMAGE" >/dev/null' EXIT
PYTHONDONTWRITEBYTECODE=1 python3 -m unittest discover --start-directory tests/docker "$@"
