#!/bin/sh
# One environment for each program that is compared, under the folder that is given.
# usage: benchmarks/peers/environments.sh [FOLDER]    (some two gigabytes, some minutes)
set -eu
folder=${1:-.peers}
here=$(cd "$(dirname "$0")" && pwd)
make_one() {
    "${PYTHON:-python3}" -m venv --clear "$folder/$1"
    "$folder/$1/bin/python" -m pip install -q --upgrade pip
    name=$1
    shift
    "$folder/$name/bin/python" -m pip install -q "$@"
    "$folder/$name/bin/python" -m pip freeze > "$folder/$name.freeze.txt"
}
mkdir -p "$folder"
make_one ours -c "$here/../../constraints.txt" "$here/../.."
make_one gpt-researcher "gpt-researcher==0.15.1"
make_one smolagents "smolagents[openai,toolkit]==1.26.0"
