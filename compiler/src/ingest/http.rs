//! Recorded HTTP traffic (VCR cassettes, HAR files) → exchanges: `{uri, request, response, session, started_at, took_ms}` with the bodies as
//! values. What is in the bodies, a provider's API or MCP, the readers of those formats find out.

use ltc_workflow::json;
use ltc_workflow::{Object, Value};

/// The exchanges of a cassette or a HAR file, each with its JSON Pointer; nothing where `document` is neither.
pub(crate) fn exchanges(document: &Value) -> Option<Vec<(String, Value)>> {
    if let Some(interactions) = document.get("interactions").and_then(Value::as_array) {
        let is_cassette = interactions.iter().any(|i| i.get("request").and_then(|r| r.get("uri")).is_some());
        let each = interactions.iter().enumerate().map(|(i, value)| (format!("/interactions/{i}"), of_cassette(value)));
        return is_cassette.then(|| each.collect());
    }
    let entries = document.get("log")?.get("entries")?.as_array()?;
    Some(entries.iter().enumerate().map(|(i, value)| (format!("/log/entries/{i}"), of_har(value))).collect())
}

fn object(fields: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    fields.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<Object>().into()
}

fn of_cassette(interaction: &Value) -> Value {
    let body = |message: Option<&Value>| {
        let message = message?;
        message.get("parsed_body").filter(|b| !b.is_null()).cloned().or_else(|| {
            let body = message.get("body")?;
            read_body(body.get("string").unwrap_or(body).as_str()?)
        })
    };
    let (request, response) = (interaction.get("request"), interaction.get("response"));
    object([
        ("uri", request.and_then(|r| r.get("uri")).cloned()),
        ("request", body(request)),
        ("response", body(response)),
        ("session", header(request, "mcp-session-id").or_else(|| header(response, "mcp-session-id"))),
        ("started_at", interaction.get("recorded_at").cloned()),
    ])
}

fn of_har(entry: &Value) -> Value {
    let (request, response) = (entry.get("request"), entry.get("response"));
    let content = response.and_then(|r| r.get("content"));
    let is_base64 = content.and_then(|c| c.get("encoding")).and_then(Value::as_str) == Some("base64");
    let received = content.and_then(|c| c.get("text")).and_then(Value::as_str);
    let received = received.and_then(|text| if is_base64 { read_body(&decode_base64(text)?) } else { read_body(text) });
    object([
        ("uri", request.and_then(|r| r.get("url")).cloned()),
        ("request", request.and_then(|r| r.get("postData")?.get("text")?.as_str()).and_then(read_body)),
        ("response", received),
        ("session", header(request, "mcp-session-id").or_else(|| header(response, "mcp-session-id"))),
        ("started_at", entry.get("startedDateTime").cloned()),
        ("took_ms", entry.get("time").cloned()),
    ])
}

/// A header's value: an object of lists or texts in a cassette, a list of names and values in a HAR file.
fn header(message: Option<&Value>, name: &str) -> Option<Value> {
    match message?.get("headers")? {
        Value::Object(headers) => {
            let (_, value) = headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
            value.at(0).or(Some(value)).cloned()
        }
        Value::Array(headers) => {
            let named = |h: &&Value| h.get("name").and_then(Value::as_str).is_some_and(|n| n.eq_ignore_ascii_case(name));
            headers.iter().find(named)?.get("value").cloned()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// A body as a value: JSON, or the data of a stream of events. The last response of a stream that ends with a whole one counts alone.
fn read_body(text: &str) -> Option<Value> {
    if let Ok(value) = json::parse(text.as_bytes()) {
        return Some(value);
    }
    let events = events(text);
    let whole = events.iter().rev().find_map(|e| match e.get("type").and_then(Value::as_str) {
        Some("response.completed" | "response.incomplete" | "response.failed") => e.get("response").cloned(),
        _ => None,
    });
    whole.or_else(|| (!events.is_empty()).then(|| Value::array(events)))
}

/// The values that a stream of server-sent events carries as data.
fn events(text: &str) -> Vec<Value> {
    let (mut values, mut data) = (Vec::new(), String::new());
    for line in text.lines().chain([""]) {
        let line = line.trim_end_matches('\r');
        match line.strip_prefix("data:") {
            Some(more) => {
                if !data.is_empty() {
                    data.push('\n');
                }
                data.push_str(more.strip_prefix(' ').unwrap_or(more));
            }
            None if line.is_empty() => {
                values.extend(json::parse(data.as_bytes()).ok());
                data.clear();
            }
            None => {}
        }
    }
    values
}

/// The text in standard base64.
fn decode_base64(text: &str) -> Option<String> {
    let (mut bits, mut count, mut bytes) = (0_u32, 0_u32, Vec::new());
    for c in text.bytes().filter(|b| !b.is_ascii_whitespace() && *b != b'=') {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).ok()?);
            bits &= (1 << count) - 1;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_events() {
        let stream = "event: message\r\ndata: {\"a\":1}\r\n\r\n: ping\r\n\r\ndata: {\"b\":\ndata: 2}\n\n";
        assert_eq!(read_body(stream).map(|v| json::to_string(&v)).as_deref(), Some(r#"[{"a":1},{"b":2}]"#));
        let whole = "data: {\"type\":\"response.created\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\"}}\n\n";
        assert_eq!(read_body(whole).map(|v| json::to_string(&v)).as_deref(), Some(r#"{"id":"r"}"#));
        assert_eq!(read_body("<html>"), None);
    }

    #[test]
    fn base64() {
        assert_eq!(decode_base64("eyJhIjoxfQ==").as_deref(), Some(r#"{"a":1}"#));
        assert_eq!(decode_base64("w7w=").as_deref(), Some("ü"));
        assert_eq!(decode_base64("!"), None);
    }
}
