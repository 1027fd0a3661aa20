#!/bin/sh
# Schemathesis against `ltc serve`: thousands of requests that its OpenAPI document allows, and as many that it does not.
#
#   LTC_SLOW=1 tests/rest.sh [FOLDER]
#
# Schemathesis is installed into FOLDER, or a temporary one. What it is told beside the document stands in tests/rest/schemathesis.toml, with the checks that are off
# and why. It goes in two passes, so that no made-up program is ever started and no made-up address ever called: in the first one servers are registered and never reached;
# in the second one a server of tests is reached and none is registered.
set -eu

if [ -z "${LTC_SLOW:-}" ]; then
    echo "skipped: set LTC_SLOW=1 to install Schemathesis and run it" >&2
    exit 0
fi

root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
cd "$folder"
if [ ! -x venv/bin/st ]; then
    python3 -m venv venv
    venv/bin/pip install --quiet --disable-pip-version-check schemathesis==4.32.5
fi

(cd "$root" && cargo build --quiet --locked)
ltc=${CARGO_TARGET_DIR:-$root/target}/debug/ltc
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true' EXIT

# serve: a store with a workflow, a run that waits, a server and a recording, and what serves it; sets url.
serve() {
    [ -z "$server" ] || kill "$server"
    LTC_HOME=$(mktemp -d)
    LTC_STORE=$LTC_HOME/ltc.db
    export LTC_HOME LTC_STORE
    for workflow in echo ask; do
        "$ltc" deploy "$root/tests/rest/$workflow.yaml" > /dev/null
    done
    "$ltc" servers add desk -- "$ltc" demo-server > /dev/null
    "$ltc" traces add "$root/fixtures/demo/late-orders.json" --id late-orders > /dev/null
    "$ltc" traces compile late-orders --name late > /dev/null 2>&1
    "$ltc" run "$root/tests/rest/ask.yaml" --id waiting > /dev/null 2>&1 || [ $? = 4 ]
    "$ltc" serve --listen 127.0.0.1:0 2> serve.log &
    server=$!
    url=
    for _ in $(seq 50); do
        url=$(grep -o 'http://[0-9.:]*' serve.log | head -n 1 || true)
        [ -n "$url" ] && break
        sleep 0.1
    done
}

failed=0
# pass NAME OPTION…: one pass over a new store.
pass() {
    echo "== $1"
    shift
    serve
    venv/bin/st --config-file "$root/tests/rest/schemathesis.toml" run "$url/api/openapi.json" --no-color --continue-on-failure \
        --seed "${LTC_SEED:-1}" --max-examples "${LTC_EXAMPLES:-50}" "$@" || failed=1
}

# Those that reach a server.
reach="connect_mcp_server list_mcp_tools call_mcp_tool"
pass "everything, and no server is reached" $(for name in $reach; do echo "--exclude-operation-id $name"; done)
pass "a server is reached" $(for name in $reach disconnect_mcp_server get_mcp_server list_mcp_servers; do echo "--include-operation-id $name"; done)
exit "$failed"
