#!/bin/sh
# Compiles every *.in of this folder to a hashed lock file: `make lock`.
# The development environment is locked first and constrains the layers, so that versions agree;
# the emulator and the SAM command each live alone. Existing pins stay unless --upgrade is given.
set -eu
cd "$(dirname "$0")"
uv=${UV:-../.venv/bin/uv}
compile() {
    "$uv" pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-header \
        --no-emit-find-links --no-emit-index-url "$@"
}
compile "$@" --override drop-dev.txt dev.in -o dev.txt
compile "$@" --override drop-core.txt -c dev.txt core.in -o core.txt
for layer in embeddings parsers; do
    compile "$@" --override drop-above-core.txt -c dev.txt "$layer.in" -o "$layer.txt"
done
compile "$@" -c dev.txt runtime.in -o runtime.txt
compile "$@" -c dev.txt uv.in -o uv.txt
compile "$@" ministack.in -o ministack.txt
compile "$@" sam.in -o sam.txt
