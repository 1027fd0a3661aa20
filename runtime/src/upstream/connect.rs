//! Making a connection: the transport, the handshake of either era of the protocol, and the limits of both.

use super::child::Remains;
use super::client::{Client, Service, chain, rpc_error};
use super::ears::Ears;
#[cfg(feature = "http")]
use super::http::HttpClient;
#[cfg(feature = "http")]
use super::sse::SseTransport;
use super::stdio;
use super::{Upstream, failure};
use crate::observe::Log;
use crate::servers::Endpoint;
use crate::text;
#[cfg(feature = "http")]
use ::http::{HeaderName, HeaderValue};
use ltc_workflow::advance::Failure;
use rmcp::RoleClient;
use rmcp::model::{ClientCapabilities, Implementation, InitializeRequestParams, ProtocolVersion};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, serve_client_with_lifecycle};
use rmcp::transport::IntoTransport;
#[cfg(feature = "http")]
use rmcp::transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long the way to a server may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From the start of a connection to the end of its handshake. A launcher may download the server first.
    pub connect: Duration,
    /// A call whose step has no `timeout` of its own.
    pub call: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connect: Duration::from_secs(60), call: Duration::from_secs(300) }
    }
}

/// Makes connections.
#[derive(Clone)]
pub struct Connector {
    /// Takes what servers say beside the protocol.
    pub log: Arc<dyn Log>,
    /// How long a connection may take.
    pub limits: Limits,
}

/// The eras of the protocol, in the order in which they are tried: nearly every server of today knows `initialize`, and servers that know
/// only the newer way say so at once, while some older ones never answer what they do not know.
enum Era {
    Initialize,
    Discover,
}

impl Connector {
    /// A connection to `server`.
    ///
    /// # Errors
    /// `connect-failed` with the reason.
    pub async fn connect(&self, server: &str, endpoint: &Endpoint) -> Result<Arc<dyn Upstream>, Failure> {
        self.connect_hearing(server, endpoint, &Ears::deaf()).await
    }

    /// The same, with somebody who hears what the server says beside its answers.
    ///
    /// # Errors
    /// `connect-failed` with the reason.
    pub async fn connect_hearing(&self, server: &str, endpoint: &Endpoint, ears: &Arc<Ears>) -> Result<Arc<dyn Upstream>, Failure> {
        match self.connect_in(Era::Initialize, server, endpoint, ears).await {
            Ok(client) => Ok(Arc::new(client)),
            Err(Refusal::Spoken(said)) => match self.connect_in(Era::Discover, server, endpoint, ears).await {
                Ok(client) => Ok(Arc::new(client)),
                Err(_) => Err(refused(server, &said)),
            },
            Err(Refusal::Other(why)) => Err(refused(server, &why)),
        }
    }

    async fn connect_in(&self, era: Era, server: &str, endpoint: &Endpoint, ears: &Arc<Ears>) -> Result<Client, Refusal> {
        match endpoint {
            Endpoint::Stdio { command, .. } => {
                let (transport, remains) = stdio::start(server, endpoint, self.log.clone(), ears.clone())
                    .map_err(|error| Refusal::Other(format!("`{}` cannot be started: {error}", text::one_line(command))))?;
                let service = self.shake_hands(era, transport, Some(&remains)).await?;
                Ok(Client::new(server, service, Some(remains), ears.clone()))
            }
            #[cfg(not(feature = "http"))]
            Endpoint::Http { .. } => {
                Err(Refusal::Other("this program was built without HTTP (the feature `http` of ltc-runtime)".to_owned()))
            }
            #[cfg(feature = "http")]
            Endpoint::Http { url, headers, sse } => {
                let headers: Vec<(HeaderName, HeaderValue)> =
                    headers.iter().map(|(name, value)| header(name, value)).collect::<Result<_, _>>().map_err(Refusal::Other)?;
                if *sse {
                    let opening = SseTransport::open(url, headers.into_iter().collect(), ears.clone());
                    let limit = self.limits.connect;
                    let Ok(opened) = tokio::time::timeout(limit, opening).await else {
                        return Err(Refusal::Other(format!("there was no stream of events within {} s", limit.as_secs())));
                    };
                    let service = self.shake_hands(era, opened.map_err(Refusal::Other)?, None).await?;
                    return Ok(Client::new(server, service, None, ears.clone()));
                }
                let client = HttpClient::new(url, ears.clone()).map_err(Refusal::Other)?;
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                config.custom_headers.extend(headers);
                config.max_concurrent_requests = 64;
                let service = self.shake_hands(era, StreamableHttpClientTransport::with_client(client, config), None).await?;
                Ok(Client::new(server, service, None, ears.clone()))
            }
        }
    }

    async fn shake_hands<T, E, A>(&self, era: Era, transport: T, remains: Option<&Arc<Mutex<Remains>>>) -> Result<Service, Refusal>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let us = InitializeRequestParams::new(ClientCapabilities::default(), Implementation::new("ltc", env!("CARGO_PKG_VERSION")));
        let lifecycle = match era {
            Era::Initialize => ClientLifecycleMode::Initialize,
            Era::Discover => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        };
        let limit = self.limits.connect;
        let Ok(done) = tokio::time::timeout(limit, serve_client_with_lifecycle(us, transport, lifecycle)).await else {
            return Err(Refusal::Other(format!("there was no handshake within {} s", limit.as_secs())));
        };
        done.map_err(|error| match error {
            ClientInitializeError::JsonRpcError(error) => Refusal::Spoken(rpc_error(&error)),
            ClientInitializeError::ConnectionClosed(_) => Refusal::Other(match remains {
                Some(remains) => remains.lock().unwrap_or_else(PoisonError::into_inner).describe(),
                None => "the connection was closed during the handshake".to_owned(),
            }),
            ClientInitializeError::TransportError { error, .. } => Refusal::Other(text::one_line(&chain(&*error.error))),
            error => Refusal::Other(text::one_line(&error.to_string())),
        })
    }
}

/// Why there is no connection.
enum Refusal {
    /// The server said so.
    Spoken(String),
    /// Anything else.
    Other(String),
}

fn refused(server: &str, why: &str) -> Failure {
    failure("connect-failed", format!("the server {server} cannot be reached: {why}"))
}

/// A header; its value is never shown.
#[cfg(feature = "http")]
fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("`{}` is no name of a header", text::one_line(name)))?;
    let mut value =
        HeaderValue::from_str(value).map_err(|_| format!("the value of the header {key} has characters that no header may have"))?;
    value.set_sensitive(true);
    Ok((key, value))
}
