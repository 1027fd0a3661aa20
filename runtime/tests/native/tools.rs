//! The one tool `note`, which gives back what it is given: in the process of the test, and as a server over stdio.

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use ltc_runtime::adapter::{Client, McpAdapter};
use ltc_runtime::drive::Driver;
use ltc_runtime::secrets::Redactor;
use ltc_runtime::upstream::{Limits, Tool, ToolCall, ToolResult};
use ltc_workflow::advance::Failure;
use ltc_workflow::{Value, json};
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The tool, in this process. It notes who called, and ends a driver after so many calls.
#[derive(Default)]
pub struct InProcess {
    made: Mutex<Vec<String>>,
    end: Mutex<Option<(usize, Weak<Driver>)>>,
}

impl InProcess {
    /// The driver ends with the nth call from now on.
    pub fn end_after(&self, calls: Option<usize>, driver: &Arc<Driver>) {
        let at = calls.map(|calls| (self.made().len() + calls, Arc::downgrade(driver)));
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    /// The steps that called.
    pub fn made(&self) -> Vec<String> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl McpAdapter for InProcess {
    fn connect(&self) -> BoxFuture<'_, Result<(), Failure>> {
        ready(Ok(())).boxed()
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }

    fn connect_client<'c>(&'c self, _: &'c Client) -> BoxFuture<'c, Result<(), Failure>> {
        ready(Ok(())).boxed()
    }

    fn disconnect_client<'c>(&'c self, _: &'c Client) -> BoxFuture<'c, ()> {
        ready(()).boxed()
    }

    fn list_tools<'c>(&'c self, _: &'c Client) -> BoxFuture<'c, Result<Vec<Tool>, Failure>> {
        let tool = Tool { name: "note".into(), input_schema: None, output_schema: None, entry: Value::Null };
        ready(Ok(vec![tool])).boxed()
    }

    fn call_tool<'c>(&'c self, _: &'c Client, call: &'c ToolCall) -> BoxFuture<'c, Result<ToolResult, Failure>> {
        let count = {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            made.push(call.step.0.to_string());
            made.len()
        };
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(driver) = end.filter(|(at, _)| *at == count).and_then(|(_, driver)| driver.upgrade()) {
            driver.end();
        }
        let structured = Some(Value::Object(call.arguments.clone()));
        ready(Ok(ToolResult { content: Vec::new(), structured, is_error: false })).boxed()
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn conceal(&self, _: &Redactor) {}
}

/// The same as a server, until stdin ends.
pub fn serve() -> ExitCode {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = json::parse(line.as_bytes()) else { continue };
        let (Some(id), Some(method)) = (message.get("id"), message.get("method").and_then(Value::as_str)) else { continue };
        let part = |key: &str| message.get("params").and_then(|params| params.get(key)).map(json::to_string).unwrap_or_default();
        let result = match method {
            "initialize" => format!(
                r#"{{"protocolVersion":{},"capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"notes","version":"1"}}}}"#,
                part("protocolVersion")
            ),
            "tools/list" => r#"{"tools":[{"name":"note","inputSchema":{"type":"object"}}]}"#.to_owned(),
            _ => noted(
                message.get("params").and_then(|params| params.get("arguments")?.get("n")).unwrap_or(&Value::Null),
                &part("arguments"),
            ),
        };
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, json::to_string(id));
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// What the tool answers. Asked for it, it fails, or writes a line into a file and takes its time.
fn noted(n: &Value, arguments: &str) -> String {
    let words = n.as_str().unwrap_or_default();
    if let Some(path) = words.strip_prefix("slow ") {
        let file = std::fs::File::options().create(true).append(true).open(path);
        file.and_then(|mut file| writeln!(file, "made")).expect("the test has a folder");
        std::thread::sleep(std::time::Duration::from_millis(700));
    }
    let is_error = words == "fail";
    format!(r#"{{"content":[],"structuredContent":{arguments},"isError":{is_error}}}"#)
}
