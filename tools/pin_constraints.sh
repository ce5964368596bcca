#!/usr/bin/env bash
# Writes constraints.txt: installs every extra but jax in a fresh environment and freezes the result.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"${PYTHON:-python3}" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install --editable ".[compare,docs,gpu,test]"

{
    echo "# Every package of a working environment, for all extras but jax. Written by \`make constraints\`."
    # A local label such as +cpu names one build; the pin must hold for all of them.
    "$scratch/venv/bin/python" -m pip freeze --all --exclude pip --exclude-editable | sed 's/+[A-Za-z0-9.]*$//'
} > "$scratch/constraints.txt"
mv "$scratch/constraints.txt" constraints.txt
echo "constraints.txt now pins $(grep -c == constraints.txt) packages; run \`make test\` before committing it."
