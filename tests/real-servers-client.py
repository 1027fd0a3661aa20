"""A client of one MCP server over stdio: makes the calls of a file, one a line, one after the other, and says nothing where all are answered.

    python3 real-servers-client.py CALLS COMMAND...
"""

import json
import subprocess
import sys

calls, command = sys.argv[1], sys.argv[2:]
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
number = 0


def say(message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()


def ask(method, params):
    global number
    number += 1
    say({"id": number, "method": method, "params": params})
    while True:
        line = server.stdout.readline()
        if not line:
            sys.exit(f"no answer to {method}")
        message = json.loads(line)
        if "method" not in message and message.get("id") == number:
            break
        if "method" in message and "id" in message:
            say({"id": message["id"], "result": {"roots": []}} if message["method"] == "roots/list" else {"id": message["id"], "result": {}})
    if "error" in message or message["result"].get("isError"):
        sys.exit(f"{method} failed: {json.dumps(message)[:300]}")
    return message["result"]


ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "calls", "version": "1"}})
say({"method": "notifications/initialized"})
ask("tools/list", {})
with open(calls, encoding="utf-8") as file:
    for line in file:
        ask("tools/call", json.loads(line))
server.stdin.close()
sys.exit(server.wait())
