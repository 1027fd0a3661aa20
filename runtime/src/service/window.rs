//! Which runs a question is about: the fields that all such questions share, and times as they are said.

use super::refusal::{Code, Refusal};
use crate::clock::Moment;
use crate::problem::Problem;
use crate::text;
use ltc_workflow::document::Duration;

/// What a time is written like: an instant in UTC, or how long ago.
pub(super) const TIME: &str =
    "^([0-9]{1,6}[smhd]|[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?Z)$";

/// The input of a question about runs. With serde's `flatten` there would be no `deny_unknown_fields`.
macro_rules! of_runs {
    ($(#[$about:meta])* $name:ident { $($(#[$more:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Only runs of this workflow.
            #[serde(default)]
            pub workflow_name: Option<String>,
            /// Only runs that were asked for then or later: an instant (`2026-01-02T03:04:05Z`), or how long ago (`24h`, `7d`).
            #[serde(default)]
            #[schemars(regex(pattern = TIME))]
            pub since: Option<String>,
            /// Only runs that were asked for before: as `since`.
            #[serde(default)]
            #[schemars(regex(pattern = TIME))]
            pub until: Option<String>,
            $($(#[$more])* pub $field: $kind,)*
            /// How many of the first ones are left out.
            #[serde(default)]
            pub offset: Option<u32>,
        }

        impl $name {
            pub(super) fn window(&self) -> Result<Window, super::Refusal> {
                let (since, until) = super::window::times(self.since.as_deref(), self.until.as_deref())?;
                Ok(Window { workflow: self.workflow_name.as_deref().map(Into::into), since, until })
            }
        }
    };
}

pub(super) use of_runs;

/// A stretch of time, as it is said.
///
/// # Errors
/// `Invalid`, with the place of each that is no time.
pub(super) fn times(since: Option<&str>, until: Option<&str>) -> Result<(Option<Moment>, Option<Moment>), Refusal> {
    let now = Moment::now();
    let mut problems = Vec::new();
    let mut read = |place: &str, said: Option<&str>| {
        let said = said?;
        let time = time(said, now);
        if time.is_none() {
            let help = "an instant in UTC, like 2026-01-02T03:04:05Z, or how long ago, like 90s, 30m, 24h or 7d";
            problems.push(Problem::new("invalid-input", place, format!("`{}` is no time", text::one_line(said))).help(help));
        }
        time
    };
    let times = (read("/since", since), read("/until", until));
    if problems.is_empty() { Ok(times) } else { Err(Refusal::because(Code::Invalid, problems)) }
}

fn time(said: &str, now: Moment) -> Option<Moment> {
    let Some(number) = said.strip_suffix(['s', 'm', 'h', 'd']) else { return Moment::read(said) };
    let is_number = (1..=6).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    let ago = Duration::parse(said).filter(|_| is_number)?;
    Some(now.before(std::time::Duration::from_millis(ago.millis)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_instants_or_how_long_ago_as_the_schema_says() {
        let schema = serde_json::json!({"type": "string", "pattern": TIME});
        let schema = jsonschema::validator_for(&schema).expect("a schema");
        let now = Moment(10_000_000_000);
        for (said, expected) in [
            ("90s", Some(10_000_000_000 - 90_000)),
            ("2h", Some(10_000_000_000 - 7_200_000)),
            ("7d", Some(10_000_000_000 - 604_800_000)),
            ("1970-01-02T00:00:00.5Z", Some(86_400_500)),
            ("1970-01-02T00:00:00+01:00", None),
            ("yesterday", None),
            ("1m30s", None),
            ("1234567d", None),
            ("d", None),
            ("", None),
        ] {
            assert_eq!(time(said, now), expected.map(Moment), "{said}");
            assert_eq!(schema.is_valid(&serde_json::json!(said)), expected.is_some(), "{said}");
        }
        let refused = times(Some("soon"), Some("never")).expect_err("no times");
        assert_eq!(refused.problems.iter().map(|problem| problem.place.as_str()).collect::<Vec<_>>(), ["/since", "/until"]);
    }
}
