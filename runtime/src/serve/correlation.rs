//! What a call says about the recording that it belongs to: `ltc/trace` in its `_meta`, the header `Ltc-Trace`, or, where there are no connections, the id of the trace
//! (W3C Trace Context, in `_meta` or as a header) that the client itself puts its calls into.

use super::is_over_http;
use crate::stdio::wire::is_modern;
use ltc_workflow::digest;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use smol_str::{SmolStr, format_smolstr};

/// The key in `_meta`.
const KEY: &str = "ltc/trace";
/// The header.
const HEADER: &str = "ltc-trace";
/// The key in `_meta`, and the header.
const TRACEPARENT: &str = "traceparent";
/// A longer name is shortened to a digest.
const LONGEST: usize = 100;

/// The name of the recording that a call belongs to, where it says one.
pub fn name(context: &RequestContext<RoleServer>) -> Option<SmolStr> {
    let meta = |key: &str| context.meta.0.get(key).and_then(|value| value.as_str()).map(str::to_owned);
    if let Some(name) = meta(KEY).or_else(|| header(context, HEADER)).filter(|name| !name.trim().is_empty()) {
        return Some(named(name.trim()));
    }
    // Over a connection, the connection says it; a client may have one trace for many agents.
    if !is_modern(context) || !is_over_http(context) {
        return None;
    }
    let parent = meta(TRACEPARENT).or_else(|| header(context, TRACEPARENT))?;
    trace_of(&parent).map(|trace| format_smolstr!("traceparent {trace}"))
}

fn named(name: &str) -> SmolStr {
    if name.len() <= LONGEST { name.into() } else { digest::of_bytes(name.as_bytes()) }
}

#[cfg(feature = "listen")]
fn header(context: &RequestContext<RoleServer>, name: &str) -> Option<String> {
    context.extensions.get::<http::request::Parts>()?.headers.get(name)?.to_str().ok().map(str::to_owned)
}

#[cfg(not(feature = "listen"))]
fn header(_: &RequestContext<RoleServer>, _: &str) -> Option<String> {
    None
}

/// The id of the trace in `version-trace-parent-flags`, if it is one.
fn trace_of(parent: &str) -> Option<&str> {
    let mut parts = parent.trim().split('-');
    let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |text: &str, length: usize| text.len() == length && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let is_something = |text: &str| text.bytes().any(|digit| digit != b'0');
    (is_hex(version, 2) && version != "ff" && is_hex(trace, 32) && is_something(trace) && is_hex(span, 16) && is_something(span))
        .then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_has_a_name_where_it_is_one() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(trace_of(&format!("00-{trace}-00f067aa0ba902b7-01")), Some(trace));
        // Later versions may have more at their end.
        assert_eq!(trace_of(&format!("01-{trace}-00f067aa0ba902b7-01-more")), Some(trace));
        for none in [
            String::new(),
            trace.to_owned(),
            format!("ff-{trace}-00f067aa0ba902b7-01"),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01".to_owned(),
            format!("00-{trace}-0000000000000000-01"),
            format!("00-{}-00f067aa0ba902b7-01", trace.to_uppercase()),
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01".to_owned(),
        ] {
            assert_eq!(trace_of(&none), None, "{none}");
        }
    }

    #[test]
    fn a_long_name_is_still_a_name_of_its_own() {
        let (one, two) = (named(&"a".repeat(5000)), named(&"a".repeat(5001)));
        assert!(one != two && one.len() <= LONGEST && named("a b") == "a b");
    }
}
