//! Who may come over HTTP, and with how much.

use crate::client::{Served, messages, web};
use crate::world::World;
use ltc_workflow::Value;
use reqwest::{Method, RequestBuilder, StatusCode};

const TOKEN: &str = "a-token-that-nobody-guesses";
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

fn request(served: &Served, method: Method, path: &str) -> RequestBuilder {
    let request = web().request(method, format!("http://127.0.0.1:{}{path}", served.port));
    request.header("Accept", "application/json, text/event-stream").header("Content-Type", "application/json")
}

fn hello(served: &Served) -> RequestBuilder {
    request(served, Method::POST, "/mcp/mcp-workflows").body(HELLO)
}

async fn status(request: RequestBuilder) -> StatusCode {
    request.send().await.expect("it answers").status()
}

pub async fn without_the_token_nobody_gets_anywhere() {
    let world = World::new().await;
    let served = Served::listening(&[&world.address(), "127.0.0.1:0", TOKEN]).await;
    for path in ["/mcp/mcp-workflows", "/mcp/human-queue", "/mcp/none"] {
        for method in [Method::POST, Method::GET, Method::DELETE, Method::OPTIONS] {
            let wrong = [
                None,
                Some(""),
                Some("Bearer"),
                Some("Bearer "),
                Some("Bearer a-token-that-nobody-guesseS"),
                Some("Basic a-token-that-nobody-guesses"),
                Some(TOKEN),
            ];
            for given in wrong {
                let mut request = request(&served, method.clone(), path).body(HELLO);
                if let Some(given) = given {
                    request = request.header("Authorization", given);
                }
                let response = request.send().await.expect("it answers");
                if path == "/mcp/none" && response.status() == StatusCode::NOT_FOUND {
                    continue;
                }
                assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{method} {path} {given:?}");
                assert_eq!(response.headers().get("WWW-Authenticate").map(|value| value.as_bytes()), Some(&b"Bearer"[..]));
                assert!(!response.text().await.expect("a body").contains(TOKEN));
            }
        }
    }
    for scheme in ["Bearer", "bearer"] {
        let response = hello(&served).header("Authorization", format!("{scheme} {TOKEN}")).send().await.expect("it answers");
        assert_eq!(response.status(), StatusCode::OK);
        let body = response.text().await.expect("a body");
        assert!(messages(&body)[0].get("result").is_some(), "{body}");
    }
}

pub async fn a_page_of_somebody_else_is_refused() {
    let world = World::new().await;
    let served = Served::listening(&[&world.address(), "127.0.0.1:0", "", "http://app.example:*"]).await;
    for host in ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example"] {
        assert_eq!(status(hello(&served).header("Host", host)).await, StatusCode::FORBIDDEN, "{host}");
    }
    for origin in
        ["http://evil.example", "null", "https://app.example:1", "http://app.example.evil:80", "http://localhost:3000", "nonsense"]
    {
        let refused = status(hello(&served).header("Origin", origin)).await;
        assert!(refused == StatusCode::FORBIDDEN || refused == StatusCode::BAD_REQUEST, "{origin} {refused}");
    }
    assert_eq!(status(hello(&served).header("Host", "localhost:1234")).await, StatusCode::OK);
    assert_eq!(status(hello(&served).header("Origin", "http://app.example:8080")).await, StatusCode::OK);
    assert_eq!(status(hello(&served).header("Origin", format!("http://localhost:{}", served.port))).await, StatusCode::OK);
    assert_eq!(status(hello(&served)).await, StatusCode::OK);
}

pub async fn a_message_that_is_too_large_is_refused() {
    let world = World::new().await;
    let served = Served::listening(&[&world.address(), "127.0.0.1:0"]).await;
    let large = |size: usize| {
        let text = "x".repeat(size);
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{{"x":"{text}"}}}}}}"#)
    };
    let post = |body: reqwest::Body| request(&served, Method::POST, "/mcp/mcp-workflows").body(body);
    assert_eq!(status(post(large(4 * 1024 * 1024).into())).await, StatusCode::PAYLOAD_TOO_LARGE);
    // Its length is not told before.
    let chunks = (0..80).map(|_| Ok::<_, std::io::Error>(vec![b' '; 64 * 1024]));
    let stream = reqwest::Body::wrap_stream(futures_util::stream::iter(chunks));
    assert_eq!(status(post(stream)).await, StatusCode::PAYLOAD_TOO_LARGE);
    // One that is only long comes through.
    let long = HELLO.replace(r#""name":"t""#, &format!(r#""name":"{}""#, "t".repeat(1024 * 1024)));
    assert_eq!(status(post(long.into())).await, StatusCode::OK);
    for (body, expected) in [("nonsense", -32700), (r#"{"a":1,"a":2}"#, -32700)] {
        let response = request(&served, Method::POST, "/mcp/mcp-workflows").body(body).send().await.expect("it answers");
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        let answer = messages(&response.text().await.expect("a body")).remove(0);
        assert_eq!(crate::client::at(&answer, "/error/code"), Value::from(i64::from(expected)));
    }
    assert_eq!(status(request(&served, Method::POST, "/mcp/none").body(HELLO)).await, StatusCode::NOT_FOUND);
}

pub async fn an_address_that_others_reach_wants_a_token() {
    let world = World::new().await;
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:192.0.2.1]:0"] {
        let listen = ltc_runtime::serve::Listen::at(address.parse().expect("an address"));
        let refused = ltc_runtime::serve::listen(world.service.clone(), listen, std::future::pending()).await;
        assert_eq!(refused.err().expect("it is refused").code, "token-required", "{address}");
    }
    let served = Served::listening(&[&world.address(), "0.0.0.0:0", TOKEN]).await;
    assert_eq!(status(hello(&served)).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(hello(&served).bearer_auth(TOKEN)).await, StatusCode::OK);
}

pub async fn health_is_told_to_anybody() {
    let world = World::new().await;
    let served = Served::listening(&[&world.address(), "127.0.0.1:0", TOKEN]).await;
    let response = request(&served, Method::GET, "/healthz").send().await.expect("it answers");
    assert_eq!((response.status(), response.text().await.expect("a body").as_str()), (StatusCode::OK, "ok\n"));
}
