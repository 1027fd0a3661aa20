//! Secrets that stand literally in what is said of a server: the registry refuses them, since whoever reads the store would read them too.

use crate::problem::Problem;
use crate::text;
use ltc_workflow::document::Transport;
use ltc_workflow::secret;

/// Shorter values are no secrets.
const SHORTEST: usize = 8;

/// How the name of a variable or a header ends whose value is a secret.
const ENDINGS: [&str; 9] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "PAT"];

/// Headers whose value is a secret, whatever their names end with.
const HEADERS: [&str; 3] = ["AUTHORIZATION", "PROXY_AUTHORIZATION", "COOKIE"];

/// Names of parameters in a URL whose value is a secret.
const PARAMETERS: [&str; 7] = ["key", "api_key", "apikey", "api-key", "token", "access_token", "password"];

/// Every place in `transport` where a secret seems to stand instead of a `${VARIABLE}`. The problems do not show it.
pub fn secrets(server: &str, transport: &Transport) -> Vec<Problem> {
    let problem = |field: String, name: &str| {
        let place = format!("server {}, {field}", text::one_line(server));
        let help = format!("set a variable of the environment and write `${{{name}}}`: it is filled in when the server is reached");
        Problem::new("literal-secret", place, "this looks like a secret, and the registry keeps none").help(help)
    };
    let mut found = Vec::new();
    match transport {
        Transport::Stdio { command, args, env, cwd: _ } => {
            for (name, _) in env.iter().filter(|(name, value)| is_secret(name, value)) {
                found.push(problem(format!("env {}", text::one_line(name)), &variable(name)));
            }
            let words = [command].into_iter().chain(args).enumerate();
            for (index, _) in words.filter(|(_, word)| secret::holds_token(word)) {
                found.push(problem(if index == 0 { "command".to_owned() } else { format!("args {}", index - 1) }, "TOKEN"));
            }
        }
        Transport::Http { url, headers, sse: _ } => {
            if secret::holds_token(url) || has_password(url) || has_secret_parameter(url) {
                found.push(problem("url".to_owned(), "TOKEN"));
            }
            for (name, value) in headers.iter().filter(|(name, value)| is_secret(name, value)) {
                let variable = if value.starts_with("Bearer ") { "Bearer ${TOKEN}".to_owned() } else { "${TOKEN}".to_owned() };
                let place = format!("server {}, header {}", text::one_line(server), text::one_line(name));
                let help = format!("set a variable of the environment and write `{variable}`: it is filled in when the server is reached");
                found.push(Problem::new("literal-secret", place, "this looks like a secret, and the registry keeps none").help(help));
            }
        }
    }
    found
}

/// A name that a variable may have.
fn variable(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

/// Whether `value` is a secret by its shape, or by the name under which it stands. What is read from a variable is none.
fn is_secret(name: &str, value: &str) -> bool {
    if secret::holds_token(value) {
        return true;
    }
    let name = variable(name);
    let is_named = HEADERS.contains(&name.as_str()) || ENDINGS.iter().any(|ending| ends_with_word(&name, ending));
    is_named && !value.contains("${") && value.chars().count() >= SHORTEST && !value.starts_with(['/', '.', '~'])
}

/// Whether the last word of `name` is `word`, also in `APIKEY`.
fn ends_with_word(name: &str, word: &str) -> bool {
    match name.strip_suffix(word) {
        Some(before) => before.is_empty() || before.ends_with('_') || (word == "KEY" && before.ends_with("API")),
        None => false,
    }
}

/// `https://user:password@host/`
fn has_password(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?', '#']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    user.split_once(':').is_some_and(|(_, password)| !password.is_empty() && !password.starts_with("${"))
}

fn has_secret_parameter(url: &str) -> bool {
    let query = url.split_once('?').map_or("", |(_, query)| query).split('#').next().unwrap_or_default();
    query.split('&').filter_map(|pair| pair.split_once('=')).any(|(name, value)| {
        PARAMETERS.contains(&name.to_ascii_lowercase().as_str()) && value.chars().count() >= SHORTEST && !value.contains("${")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::read_transport;

    fn places(entry: &str) -> Vec<String> {
        let entry = ltc_workflow::json::parse(entry.as_bytes()).expect("JSON");
        let problems = secrets("s", &read_transport(&entry, "").expect("a transport"));
        for problem in &problems {
            assert!(!format!("{problem:?}").contains("hunter2"), "{problem:?}");
        }
        problems.into_iter().map(|problem| problem.place.replace("server s, ", "")).collect()
    }

    #[test]
    fn what_looks_like_a_secret_is_found_and_not_shown() {
        assert_eq!(
            places(r#"{"command":"c","env":{"GITHUB_TOKEN":"hunter2hunter2","x-api-key":"hunter2-hunter2","N":"ghp_hunter2hunter2"}}"#),
            ["env GITHUB_TOKEN", "env N", "env x-api-key"]
        );
        assert_eq!(places(r#"{"command":"c","args":["--token=ghp_hunter2hunter2"]}"#), ["args 0"]);
        assert_eq!(
            places(r#"{"url":"https://h/","headers":{"Authorization":"Bearer hunter2hunter2","X-Token":"hunter2hunter2"}}"#),
            ["header Authorization", "header X-Token"]
        );
        for url in ["https://u:hunter2@h/", "https://h/?api_key=hunter2hunter2", "https://h/?a=1&TOKEN=hunter2hunter2#x"] {
            assert_eq!(places(&format!(r#"{{"url":"{url}"}}"#)), ["url"]);
        }
    }

    #[test]
    fn variables_and_ordinary_words_are_none() {
        let ordinary = r#"{"command":"c","args":["-y","desk-0123456789abcdef"],"env":{"GITHUB_TOKEN":"${GITHUB_TOKEN}","KEYBOARD":"international","SSL_KEY":"/etc/ssl/some.key","TOKEN_LIMIT":"1000000000","MONKEY":"chimpanzee","API_KEY":"none"}}"#;
        assert!(places(ordinary).is_empty());
        assert!(places(r#"{"url":"https://${USER}:${PASSWORD}@h/?token=${T}","headers":{"Authorization":"Bearer ${T}","Accept":"application/json"}}"#).is_empty());
    }
}
