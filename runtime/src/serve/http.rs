//! Clients that come over streamable HTTP: one MCP server at `/mcp/NAME` each, and `/healthz`.
//!
//! Who may come: processes of this machine, unless a token is asked for; an address that others reach asks for one always. What a browser sends for
//! a page of somebody else is told by its `Host` and `Origin`, which the MCP library holds against the lists in [`Listen`].

use super::handler::Connection;
use super::token::Token;
use super::wire::Wire;
use super::{Place, Which, changes, names, rest};
use crate::problem::Problem;
use crate::serve::changes::Registry;
use crate::service::Service;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::StreamExt;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN, WWW_AUTHENTICATE};
use http::{HeaderMap, Method, StatusCode};
use rmcp::model::{ErrorCode, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Where to listen, and who may come.
#[derive(Clone, Debug)]
pub struct Listen {
    /// The address; port 0 is any that is free.
    pub address: SocketAddr,
    /// What a client must show as `Authorization: Bearer …`; where it is left out, only this machine is listened to.
    pub token: Option<Token>,
    /// Names that clients call us by in `Host`, beside those of this machine: `example.com` or `example.com:8080`.
    pub allowed_hosts: Vec<String>,
    /// Web pages whose scripts may call us: `https://example.com:443`, `http://localhost:*`. Any other `Origin` is refused.
    pub allowed_origins: Vec<String>,
    /// The largest message that is read, in bytes.
    pub largest_body: usize,
}

impl Listen {
    /// On loopback, for this machine, with messages of at most 4 MiB.
    pub fn at(address: SocketAddr) -> Listen {
        Listen { address, token: None, allowed_hosts: Vec::new(), allowed_origins: Vec::new(), largest_body: 4 * 1024 * 1024 }
    }
}

/// Who may come, where the protocol library does not look itself.
#[derive(Clone)]
pub(crate) struct Allowed {
    token: Option<Token>,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Allowed {
    /// Why a request with these headers is refused, if it is.
    pub(crate) fn refuses(&self, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let text = |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
        let host = text(HOST).unwrap_or_default().to_ascii_lowercase();
        // A port behind the name, also behind an IPv6 address in brackets.
        let name =
            host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit())).map_or(host.as_str(), |(name, _)| name);
        let name = name.trim_start_matches('[').trim_end_matches(']');
        if !self.hosts.iter().any(|known| *known == host || known == name) {
            return Some((StatusCode::FORBIDDEN, "the `Host` is none of this server's names"));
        }
        // Only browsers send an `Origin`: a page of another site is not to use this machine.
        if headers.contains_key(ORIGIN) && !text(ORIGIN).is_some_and(|origin| self.origins.iter().any(|known| is_from(origin, known))) {
            return Some((StatusCode::FORBIDDEN, "pages of this `Origin` may not call this server"));
        }
        let is_known = self.token.as_ref().is_none_or(|token| shows(headers, token));
        (!is_known).then_some((StatusCode::UNAUTHORIZED, "a token is needed"))
    }
}

/// Whether `origin` is the page `known`, of which `:*` at the end is any port.
fn is_from(origin: &str, known: &str) -> bool {
    let Some(site) = known.strip_suffix(":*") else { return origin == known };
    let Some(port) = origin.strip_prefix(site) else { return false };
    port.is_empty() || port.strip_prefix(':').is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The names that clients call this server by.
fn hosts(listen: &Listen) -> Vec<String> {
    let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter();
    let ip = listen.address.ip();
    let bound = (!ip.is_unspecified()).then(|| ip.to_string());
    own.chain(bound).chain(listen.allowed_hosts.iter().map(|host| host.to_ascii_lowercase())).collect()
}

/// The pages whose scripts may call this server; one that came from here would be ours.
fn origins(listen: &Listen, address: SocketAddr) -> Vec<String> {
    let own = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("http://{host}:{}", address.port())).into_iter();
    own.chain(listen.allowed_origins.iter().cloned()).collect()
}

/// How long a client of the older era may be silent before its session ends; a call that waits for a run is silent.
const LONGEST_SILENCE: Duration = Duration::from_secs(3600);
/// How long a message may take to arrive.
pub(crate) const LONGEST_ARRIVAL: Duration = Duration::from_secs(30);
/// How long the answers of calls under way may take to leave when the server ends.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
/// How long connections may take to close after that.
const LAST_CONNECTIONS: Duration = Duration::from_secs(2);

/// Listens, and gives the address and what serves there until `end` resolves. Runs that calls wait for go on where and when somebody works on them.
///
/// It works on no runs by itself: beside it goes [`Service::work`], which is to end when the future has.
///
/// # Errors
/// `token-required` where others could reach the address, and `cannot-listen`.
pub async fn listen(
    service: Arc<Service>,
    listen: Listen,
    end: impl Future<Output = ()>,
) -> Result<(SocketAddr, impl Future<Output = ()>), Problem> {
    let (listener, address, allowed) = bind(&listen).await?;
    let (ending, is_ending) = watch::channel(false);
    let registry = Registry::default();
    let config = config(&listen, address);
    let streams = config.cancellation_token.clone();
    let api = rest::router(&service, allowed, listen.largest_body);
    let router = router(&service, &listen, &registry, &is_ending, &config).merge(api);
    let serving = async move {
        let closing = is_ending.clone();
        let serving = axum::serve(listener, router).with_graceful_shutdown(async move { changes::ended(&closing).await });
        let ended = async move {
            end.await;
            ending.send_replace(true);
            tokio::time::sleep(LAST_ANSWERS).await;
            streams.cancel();
            tokio::time::sleep(LAST_CONNECTIONS).await;
        };
        tokio::select! {
            _ = serving => {}
            () = ended => {}
            never = registry.watch(service.clone()) => match never {},
            never = service.follow_servers() => match never {},
        }
        service.recordings().end().await;
    };
    Ok((address, serving))
}

/// A place where clients can come, its address, and who may.
///
/// # Errors
/// `token-required` where others could reach the address, and `cannot-listen`.
pub(crate) async fn bind(listen: &Listen) -> Result<(TcpListener, SocketAddr, Allowed), Problem> {
    if listen.token.is_none() && !listen.address.ip().to_canonical().is_loopback() {
        let message = "others can reach this address: without a token, only loopback is listened on";
        return Err(Problem::new("token-required", listen.address.to_string(), message).help("give a token, or listen on 127.0.0.1"));
    }
    let cannot = |error: std::io::Error| Problem::new("cannot-listen", listen.address.to_string(), error.to_string());
    let listener = TcpListener::bind(listen.address).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let allowed = Allowed { token: listen.token.clone(), hosts: hosts(listen), origins: origins(listen, address) };
    Ok((listener, address, allowed))
}

fn config(listen: &Listen, address: SocketAddr) -> StreamableHttpServerConfig {
    StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts(listen))
        .with_allowed_origins(origins(listen, address))
        .enforce_origin_validation()
        .with_json_response(true)
        // The message grows a little where exact values are put beside it.
        .with_max_request_body_bytes(listen.largest_body.saturating_mul(2).saturating_add(4096))
}

fn router(
    service: &Arc<Service>,
    listen: &Listen,
    registry: &Registry,
    ending: &watch::Receiver<bool>,
    config: &StreamableHttpServerConfig,
) -> Router {
    let guard = Guard { token: listen.token.clone(), largest_body: listen.largest_body };
    let mut servers = Router::new();
    for name in names() {
        let Ok(which) = Which::only(name) else { continue };
        let place = Arc::new(Place { service: service.clone(), which, registry: registry.clone(), ending: ending.clone() });
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(LONGEST_SILENCE);
        let server = StreamableHttpService::new(move || Ok(Connection::new(place.clone())), Arc::new(sessions), config.clone());
        servers = servers.route_service(&format!("/mcp/{name}"), server);
    }
    let servers = servers.layer(from_fn_with_state(guard, guarded));
    Router::new().route("/healthz", get(health)).with_state(service.clone()).merge(servers)
}

/// Whether the store answers; nothing more is told to whom nobody knows.
async fn health(State(service): State<Arc<Service>>) -> Response {
    match service.driver().store().registry_changes().await {
        Ok(_) => (StatusCode::OK, "ok\n").into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "the store cannot be used just now\n").into_response(),
    }
}

#[derive(Clone)]
struct Guard {
    token: Option<Token>,
    largest_body: usize,
}

/// Who may come and how much they may send; messages are exact on both ways.
async fn guarded(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if let Some(token) = &guard.token
        && !shows(request.headers(), token)
    {
        return (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], "a token is needed\n").into_response();
    }
    let wire = Arc::new(Wire::default());
    let is_message = request.method() == Method::POST && is_of_type(request.headers(), "application/json");
    let request = if is_message {
        match exact_request(request, &guard, &wire).await {
            Ok(request) => request,
            Err(refused) => return refused,
        }
    } else {
        request
    };
    exact_response(next.run(request).await, wire).await
}

fn shows(headers: &HeaderMap, token: &Token) -> bool {
    let Some(given) = headers.get(AUTHORIZATION).map(http::HeaderValue::as_bytes) else { return false };
    let Some((scheme, given)) = given.split_at_checked(BEARER.len()) else { return false };
    scheme.eq_ignore_ascii_case(BEARER) && token.is(given.trim_ascii())
}

const BEARER: &[u8] = b"Bearer ";

fn is_of_type(headers: &HeaderMap, wanted: &str) -> bool {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(wanted)
}

async fn exact_request(request: Request, guard: &Guard, wire: &Wire) -> Result<Request, Response> {
    let (mut parts, body) = request.into_parts();
    let too_large = || {
        let message = format!("a message has at most {} bytes\n", guard.largest_body);
        (StatusCode::PAYLOAD_TOO_LARGE, message).into_response()
    };
    let arriving = tokio::time::timeout(LONGEST_ARRIVAL, arrived(body, guard.largest_body));
    let bytes = match arriving.await {
        Ok(Ok(Some(bytes))) => bytes,
        Ok(Ok(None)) => return Err(too_large()),
        Ok(Err(_)) => return Err((StatusCode::BAD_REQUEST, "the message did not arrive\n").into_response()),
        Err(_) => return Err((StatusCode::REQUEST_TIMEOUT, "the message took too long\n").into_response()),
    };
    let text = wire.incoming(&bytes).map_err(|refused| {
        let error = ErrorData::new(ErrorCode::PARSE_ERROR, crate::text::one_line(&refused.why), None);
        let text = serde_json::to_string(&ServerJsonRpcMessage::error(error, refused.id)).unwrap_or_default();
        (StatusCode::BAD_REQUEST, [(CONTENT_TYPE, "application/json")], text).into_response()
    })?;
    parts.headers.insert(CONTENT_LENGTH, text.len().into());
    Ok(Request::from_parts(parts, Body::from(text)))
}

/// The bytes of a body; nothing where it is too large.
pub(crate) async fn arrived(body: Body, largest: usize) -> Result<Option<Vec<u8>>, axum::Error> {
    let mut bytes = Vec::new();
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        if chunk.len() > largest.saturating_sub(bytes.len()) {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes))
}

async fn exact_response(response: Response, wire: Arc<Wire>) -> Response {
    let (mut parts, body) = response.into_parts();
    if is_of_type(&parts.headers, "application/json") {
        // It is our own answer, and in memory already.
        let Ok(bytes) = axum::body::to_bytes(body, usize::MAX).await else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        let text = wire.outgoing(String::from_utf8_lossy(&bytes).into_owned());
        parts.headers.remove(CONTENT_LENGTH);
        return Response::from_parts(parts, Body::from(text));
    }
    if is_of_type(&parts.headers, "text/event-stream") {
        let mut lines = EventLines { rest: Vec::new(), wire };
        let body = body.into_data_stream().map(move |chunk| chunk.map(|chunk| lines.next(&chunk)));
        return Response::from_parts(parts, Body::from_stream(body));
    }
    Response::from_parts(parts, body)
}

/// Lines of a stream of events, whole.
struct EventLines {
    rest: Vec<u8>,
    wire: Arc<Wire>,
}

impl EventLines {
    /// The lines that end in this chunk.
    fn next(&mut self, chunk: &[u8]) -> Bytes {
        self.rest.extend_from_slice(chunk);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Bytes::new() };
        let behind = self.rest.split_off(end + 1);
        let whole = std::mem::replace(&mut self.rest, behind);
        let mut out = Vec::with_capacity(whole.len());
        for line in whole.split_inclusive(|byte| *byte == b'\n') {
            let data = line.strip_prefix(b"data:").and_then(|data| std::str::from_utf8(data).ok()).map(str::trim);
            match data.filter(|data| !data.is_empty()) {
                Some(data) => {
                    out.extend_from_slice(b"data: ");
                    out.extend_from_slice(self.wire.outgoing(data.to_owned()).as_bytes());
                    out.push(b'\n');
                }
                None => out.extend_from_slice(line),
            }
        }
        out.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_port_is_no_other_site() {
        for (origin, known, expected) in [
            ("http://a.example:80", "http://a.example:80", true),
            ("http://a.example:81", "http://a.example:80", false),
            ("http://a.example:81", "http://a.example:*", true),
            ("http://a.example", "http://a.example:*", true),
            ("http://a.example.evil", "http://a.example:*", false),
            ("http://a.example:80.evil", "http://a.example:*", false),
            ("https://a.example:80", "http://a.example:*", false),
            ("null", "http://a.example:*", false),
        ] {
            assert_eq!(is_from(origin, known), expected, "{origin} {known}");
        }
    }

    #[test]
    fn events_are_exact_wherever_the_chunks_end() {
        let value = ltc_workflow::json::parse(br#"{"n":1.10}"#).expect("JSON");
        let message = serde_json::json!({"result": super::super::wire::exact(&value)}).to_string();
        let stream = format!("id: 1\ndata: {message}\n\n: keep alive\n\ndata:\n");
        for size in [1, 7, stream.len()] {
            let mut lines = EventLines { rest: Vec::new(), wire: Arc::default() };
            let out: Vec<u8> = stream.as_bytes().chunks(size).flat_map(|chunk| lines.next(chunk)).collect();
            assert_eq!(String::from_utf8_lossy(&out), "id: 1\ndata: {\"result\":{\"n\":1.10}}\n\n: keep alive\n\ndata:\n");
        }
    }
}
