//! Who may come where a command listens: what `serve` and `record` take for that.

use crate::exit::Exit;
use crate::files;
use crate::report::{Report, from_problem};
use crate::traces::said;
use clap::Args;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_runtime::problem::Problem;
use ltc_runtime::serve::{Listen, Token};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Who may come.
#[derive(Args, Debug)]
pub struct Door {
    /// A file with the token that clients show as `Authorization: Bearer …`; the variable LTC_TOKEN holds one too
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A name that clients call this server by, beside those of this machine
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// A web page whose scripts may call this server
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
}

impl Door {
    /// What that is at this address.
    ///
    /// # Errors
    /// How the command ends; why has been said.
    pub fn at(&self, address: SocketAddr, report: &Report) -> Result<Listen, Exit> {
        let token = match &self.token_file {
            Some(path) => Some(token_in(path, report)?),
            None => std::env::var("LTC_TOKEN").ok().filter(|token| !token.is_empty()),
        };
        let token = token.map(|text| Token::new(&text)).transpose().map_err(|why| refused(why, Exit::Usage, report))?;
        Ok(Listen { token, allowed_hosts: self.allow_host.clone(), allowed_origins: self.allow_origin.clone(), ..Listen::at(address) })
    }

    /// Says that nobody comes, where somebody is let in all the same.
    ///
    /// # Errors
    /// How the command ends.
    pub fn is_closed(&self, report: &Report) -> Result<(), Exit> {
        if self.token_file.is_none() && self.allow_host.is_empty() && self.allow_origin.is_empty() {
            return Ok(());
        }
        let why = "--token-file, --allow-host and --allow-origin say who may come over HTTP: --listen is missing";
        Err(said(&[Diagnostic::new(Severity::Error, "no-listen", "", why)], Exit::Usage, report))
    }
}

/// Says why nobody is listened to, or no longer.
pub fn refused(why: Problem, exit: Exit, report: &Report) -> Exit {
    said(&[from_problem(why, Severity::Error)], exit, report)
}

fn token_in(path: &Path, report: &Report) -> Result<String, Exit> {
    let bytes = files::read(path).map_err(|problem| said(&[problem], Exit::Usage, report))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        let problem = Diagnostic::new(Severity::Error, "bad-utf8", files::name(path), "the token is no text");
        said(&[problem], Exit::Usage, report)
    })?;
    Ok(text.trim().to_owned())
}
