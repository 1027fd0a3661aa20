//! A server over stdio whose one tool does nothing: it costs as little as a server can.

use std::io::{BufRead, Write};

/// Serves until stdin ends.
pub fn serve() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        // What comes is written by us: it is JSON, and its ids are numbers or texts.
        let Ok(message) = serde_json::from_str::<serde_json::Value>(&line) else { continue };
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else { continue };
        let result = match method {
            "initialize" => serde_json::json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "nothing", "version": "1" }
            }),
            "tools/list" => serde_json::json!({ "tools": [{ "name": "nothing", "inputSchema": { "type": "object" } }] }),
            _ => serde_json::json!({ "content": [] }),
        };
        let answer = serde_json::json!({ "jsonrpc": "2.0", "id": id, "result": result });
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}
