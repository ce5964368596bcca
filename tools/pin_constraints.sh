#!/usr/bin/env bash
# Writes constraints.txt: the newest packages for every extra but jax, installed in a fresh environment and frozen.
set -euo pipefail
cd "$(dirname "$0")/.."

oldest_python=3.11.0
project=".[compare,docs,gpu,test,text]"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"${PYTHON:-python3}" -m venv "$scratch/venv"
pip=("$scratch/venv/bin/python" -m pip)

# Some packages refuse early releases of a Python series, so choose for the oldest Python that is promised.
"${pip[@]}" install --dry-run --ignore-installed --report "$scratch/chosen.json" --target "$scratch/none" \
    --python-version "$oldest_python" --only-binary :all: "$project"
"$scratch/venv/bin/python" - "$scratch/chosen.json" > "$scratch/chosen.txt" <<'EOF'
import json
import sys

with open(sys.argv[1]) as report:
    chosen = [entry["metadata"] for entry in json.load(report)["install"]]
print(*(f"{package['name']}=={package['version']}" for package in chosen if package["name"] != "refimpl"), sep="\n")
EOF

"${pip[@]}" install --constraint "$scratch/chosen.txt" --editable "$project"
{
    echo "# Every package of a working environment, for all extras but jax. Written by \`make constraints\`."
    # A local label such as +cpu names one build; the pin must hold for all of them.
    "${pip[@]}" freeze --all --exclude pip --exclude-editable | sed 's/+[A-Za-z0-9.]*$//'
} > "$scratch/constraints.txt"
mv "$scratch/constraints.txt" constraints.txt
echo "constraints.txt now pins $(grep -c == constraints.txt) packages; run \`make test\` before committing it."
