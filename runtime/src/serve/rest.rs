//! REST under `/api`: each operation at its method and path, with the inputs and outputs that it has everywhere else.
//!
//! A field of the input comes from the path where the path names it, from the query where the request has no body, and from the body (a JSON object)
//! else. What comes back is the operation's output as JSON, digit by digit, or the refusal with the status of its kind. `/api/openapi.json` is made of the
//! same list.

mod openapi;

use super::http::{Allowed, arrived};
use crate::observe::Unobserved;
use crate::service::{Caller, Code, OPERATIONS, Operation, Place, Refusal, Rest, Service, Verb};
use crate::text;
use axum::Router;
use axum::body::Body;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use ltc_workflow::value::Number;
use ltc_workflow::{Object, Value, json};
use std::sync::Arc;

/// What all paths begin with.
const API: &str = "/api";

/// The routes of all operations. `allowed` says who may come, and `largest` how many bytes a body may have.
pub fn router(service: &Arc<Service>, allowed: Allowed, largest: usize) -> Router {
    let mut api: Router<Arc<Service>> = Router::new().route("/openapi.json", axum::routing::get(openapi_document));
    for operation in OPERATIONS {
        if let Rest::At(verb, path) = operation.rest {
            api = api.route(path.strip_prefix(API).unwrap_or(path), handler(operation, verb, largest));
        }
    }
    let unknown =
        || async { refused(&Refusal::new(Code::NotFound, "there is nothing at this path; /api/openapi.json lists what there is")) };
    let no_such_method =
        || async { answer(StatusCode::METHOD_NOT_ALLOWED, &refusal_value(&Refusal::new(Code::Invalid, "the path has no such method"))) };
    let api = api.fallback(unknown).method_not_allowed_fallback(no_such_method).layer(from_fn_with_state(allowed, guarded));
    // What is nested does not have this one.
    Router::new().nest(API, api).route("/api/", axum::routing::any(unknown)).with_state(service.clone())
}

async fn openapi_document() -> Response {
    let document = serde_json::to_string(&openapi::document()).unwrap_or_default();
    (StatusCode::OK, [(header::CONTENT_TYPE, JSON)], document).into_response()
}

const JSON: &str = "application/json";

async fn guarded(State(allowed): State<Allowed>, request: Request, next: Next) -> Response {
    match allowed.refuses(request.headers()) {
        Some((status, why)) => {
            let answer = answer(status, &refusal_value(&Refusal::new(Code::Invalid, why)));
            if status == StatusCode::UNAUTHORIZED { ([(header::WWW_AUTHENTICATE, "Bearer")], answer).into_response() } else { answer }
        }
        None => next.run(request).await,
    }
}

fn handler(operation: &'static Operation, verb: Verb, largest: usize) -> MethodRouter<Arc<Service>> {
    on(filter(verb), move |State(service): State<Arc<Service>>, path: RawPathParams, request: Request| async move {
        let caller = Caller::new(Arc::new(Unobserved));
        match input(operation, &path, request, largest).await {
            Ok(input) => match operation.call(&service, &Value::Object(input), caller).await {
                Ok(output) => answer(StatusCode::OK, &output),
                Err(refusal) => refused(&refusal),
            },
            Err((status, refusal)) => answer(status, &refusal_value(&refusal)),
        }
    })
}

fn filter(verb: Verb) -> MethodFilter {
    match verb {
        Verb::Get => MethodFilter::GET,
        Verb::Post => MethodFilter::POST,
        Verb::Put => MethodFilter::PUT,
        Verb::Delete => MethodFilter::DELETE,
    }
}

type Unread = (StatusCode, Refusal);

fn unread(status: StatusCode, message: impl Into<String>) -> Unread {
    (status, Refusal::new(Code::Invalid, message))
}

async fn input(operation: &Operation, path: &RawPathParams, request: Request, largest: usize) -> Result<Object, Unread> {
    let schema = operation.input_schema();
    let has_body = matches!(*request.method(), Method::POST | Method::PUT);
    let query = request.uri().query().unwrap_or_default().to_owned();
    let mut input = if has_body { body(request, largest).await? } else { Object::default() };
    if has_body && !query.is_empty() {
        return Err(unread(StatusCode::BAD_REQUEST, "a request with a body takes no query"));
    }
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        let schema = &schema["properties"][name.as_ref()];
        let value = typed(&name, &text, schema)?;
        match (input.get(&name).cloned(), kind(schema)) {
            (Some(Value::Array(items)), Kind::List) => {
                let more = value.as_array().unwrap_or_default().iter().cloned();
                input.insert(name.as_ref(), items.iter().cloned().chain(more).collect());
            }
            (Some(_), _) => return Err(unread(StatusCode::BAD_REQUEST, format!("`{}` is there twice", text::one_line(&name)))),
            (None, _) => input.insert(name.as_ref(), value),
        }
    }
    for (name, text) in path.iter() {
        if input.contains_key(name) {
            return Err(unread(StatusCode::BAD_REQUEST, format!("`{name}` stands in the path, and nowhere else")));
        }
        input.insert(name, typed(name, text, &schema["properties"][name])?);
    }
    Ok(input)
}

async fn body(request: Request, largest: usize) -> Result<Object, Unread> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
    let bytes = match arrived(request.into_body(), largest).await {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Err(unread(StatusCode::PAYLOAD_TOO_LARGE, format!("a body has at most {largest} bytes"))),
        Err(_) => return Err(unread(StatusCode::BAD_REQUEST, "the body did not arrive")),
    };
    if bytes.is_empty() {
        return Ok(Object::default());
    }
    if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(JSON) {
        return Err(unread(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a body is JSON, and its content-type says so"));
    }
    let value = json::parse(&bytes).map_err(|error| unread(StatusCode::BAD_REQUEST, format!("the body is no JSON: {error}")))?;
    match value {
        Value::Object(object) => Ok(object),
        other => Err(unread(StatusCode::BAD_REQUEST, format!("the body is an object, not a value of type {}", other.type_name()))),
    }
}

/// What a text in a path or a query stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Integer,
    Boolean,
    List,
}

fn kind(schema: &serde_json::Value) -> Kind {
    let is = |name: &str| match &schema["type"] {
        serde_json::Value::String(one) => one == name,
        serde_json::Value::Array(several) => several.iter().any(|one| one == name),
        _ => false,
    };
    match (is("integer"), is("boolean"), is("array")) {
        (true, _, _) => Kind::Integer,
        (_, true, _) => Kind::Boolean,
        (_, _, true) => Kind::List,
        (false, false, false) => Kind::Text,
    }
}

fn typed(name: &str, text: &str, schema: &serde_json::Value) -> Result<Value, Unread> {
    let wrong = |what: &str| unread(StatusCode::BAD_REQUEST, format!("`{}` is {what}", text::one_line(name)));
    match kind(schema) {
        Kind::Text => Ok(Value::from(text)),
        Kind::Integer => Number::parse(text).filter(Number::is_integer).map(Value::Number).ok_or_else(|| wrong("an integer")),
        Kind::Boolean => match text {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            _ => Err(wrong("true or false")),
        },
        Kind::List => Ok(text.split(',').filter(|item| !item.is_empty()).map(Value::from).collect()),
    }
}

fn answer(status: StatusCode, value: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, JSON)], Body::from(json::to_string(value))).into_response()
}

fn refused(refusal: &Refusal) -> Response {
    answer(status(refusal.code), &refusal_value(refusal))
}

/// The status of a refusal.
fn status(code: Code) -> StatusCode {
    match code {
        Code::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::Conflict => StatusCode::CONFLICT,
        Code::Missing => StatusCode::BAD_GATEWAY,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::Broken => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn refusal_value(refusal: &Refusal) -> Value {
    let place = |place: &Place| -> Value {
        let parts =
            [("code", Some(place.code)), ("place", Some(&place.place)), ("message", Some(&place.message)), ("help", place.help.as_deref())];
        Value::Object(parts.into_iter().filter_map(|(key, text)| Some((key, Value::from(text?)))).collect())
    };
    let mut value: Object =
        [("code", Value::from(refusal.code.name())), ("message", Value::from(refusal.message.as_str()))].into_iter().collect();
    if !refusal.problems.is_empty() {
        value.insert("problems", refusal.problems.iter().map(place).collect());
    }
    value.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_what_their_schema_says() {
        let typed = |text: &str, schema: serde_json::Value| typed("a", text, &schema).map(|value| json::to_string(&value)).ok();
        use serde_json::json;
        assert_eq!(typed("12345678901234567890123", json!({"type": ["integer", "null"]})).as_deref(), Some("12345678901234567890123"));
        assert_eq!(typed("1.0", json!({"type": "integer"})), None);
        assert_eq!(typed("true", json!({"type": "boolean"})).as_deref(), Some("true"));
        assert_eq!(typed("1", json!({"type": "boolean"})), None);
        assert_eq!(typed("a,b", json!({"type": "array"})).as_deref(), Some(r#"["a","b"]"#));
        assert_eq!(typed("007", json!({"type": "string"})).as_deref(), Some(r#""007""#));
    }
}
