//! Which store an address means, and where the one without an address is.

use super::{Store, StoreError};
use crate::environment::Environment;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens the store at `address`: `postgres://…` (or `postgresql://…`), `sqlite:PATH`, or a path. The address may hold a password, and no error quotes it.
///
/// # Errors
/// Where the store cannot be reached or made, is none, or was made by a newer program.
pub async fn open(address: &str) -> Result<Arc<dyn Store>, StoreError> {
    match kind(address)? {
        Kind::Postgres => postgres(address).await,
        Kind::Sqlite(path) => sqlite(path).await,
    }
}

/// Where the store is if nobody says: `ltc.db` in `LTC_HOME`, else in `ltc` in the folder for a user's data (`XDG_DATA_HOME`, else `~/.local/share`).
///
/// # Errors
/// Where the environment names no such folder.
pub fn default_path(environment: &dyn Environment) -> Result<PathBuf, StoreError> {
    let set = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = || set("XDG_DATA_HOME").filter(|folder| folder.is_absolute());
    let home = || set("HOME").map(|home| home.join(".local/share"));
    let folder = set("LTC_HOME").or_else(|| data().or_else(home).map(|folder| folder.join("ltc")));
    let missing = || StoreError::Unavailable("neither LTC_HOME nor HOME is set: nobody knows where it is".to_owned());
    folder.map(|folder| folder.join("ltc.db")).ok_or_else(missing)
}

#[derive(Debug, PartialEq, Eq)]
enum Kind<'a> {
    Postgres,
    Sqlite(&'a Path),
}

fn kind(address: &str) -> Result<Kind<'_>, StoreError> {
    let (scheme, rest) = match address.split_once(':') {
        Some((scheme, rest)) if scheme.len() > 1 && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+') => (scheme, rest),
        // `C:\…` is a path, and so is whatever has no scheme.
        Some(_) | None => return Ok(Kind::Sqlite(Path::new(address))),
    };
    match scheme.to_ascii_lowercase().as_str() {
        "postgres" | "postgresql" => Ok(Kind::Postgres),
        "sqlite" => Ok(Kind::Sqlite(Path::new(rest.strip_prefix("//").unwrap_or(rest)))),
        _ if rest.starts_with("//") => {
            Err(StoreError::Broken(format!("there is no store `{scheme}://`: it is postgres://…, sqlite:PATH or a path")))
        }
        _ => Ok(Kind::Sqlite(Path::new(address))),
    }
}

#[cfg(feature = "sqlite")]
async fn sqlite(path: &Path) -> Result<Arc<dyn Store>, StoreError> {
    super::sqlite::open(path).await
}

#[cfg(not(feature = "sqlite"))]
async fn sqlite(_: &Path) -> Result<Arc<dyn Store>, StoreError> {
    Err(StoreError::Broken("this program was built without SQLite".to_owned()))
}

#[cfg(feature = "postgres")]
async fn postgres(address: &str) -> Result<Arc<dyn Store>, StoreError> {
    super::postgres::open(address).await
}

#[cfg(not(feature = "postgres"))]
async fn postgres(_: &str) -> Result<Arc<dyn Store>, StoreError> {
    Err(StoreError::Broken("this program was built without PostgreSQL".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tests::Fixed;
    use std::collections::BTreeMap;

    fn path(variables: &[(&'static str, &'static str)]) -> Result<PathBuf, StoreError> {
        default_path(&Fixed(variables.iter().copied().collect::<BTreeMap<_, _>>()))
    }

    #[test]
    fn the_environment_says_where_the_store_is() {
        assert_eq!(path(&[("LTC_HOME", "/a"), ("XDG_DATA_HOME", "/b"), ("HOME", "/c")]), Ok(PathBuf::from("/a/ltc.db")));
        assert_eq!(path(&[("LTC_HOME", ""), ("XDG_DATA_HOME", "/b"), ("HOME", "/c")]), Ok(PathBuf::from("/b/ltc/ltc.db")));
        assert_eq!(path(&[("XDG_DATA_HOME", "relative"), ("HOME", "/c")]), Ok(PathBuf::from("/c/.local/share/ltc/ltc.db")));
        assert!(matches!(path(&[]), Err(StoreError::Unavailable(_))));
    }

    #[test]
    fn an_address_means_one_store() {
        let file = |path: &'static str| Ok(Kind::Sqlite(Path::new(path)));
        assert_eq!(kind("postgres://u:p@h/d"), Ok(Kind::Postgres));
        assert_eq!(kind("PostgreSQL://h"), Ok(Kind::Postgres));
        assert_eq!(kind("sqlite:a/b.db"), file("a/b.db"));
        assert_eq!(kind("sqlite:///a/b.db"), file("/a/b.db"));
        assert_eq!(kind("/a:b/c"), file("/a:b/c"));
        assert_eq!(kind("C:\\a"), file("C:\\a"));
        assert_eq!(kind("a.db"), file("a.db"));
    }

    #[test]
    fn an_unknown_store_is_refused_without_its_password() {
        let Err(StoreError::Broken(why)) = kind("mysql://user:hunter2@host/db") else {
            panic!("mysql is no store of ours");
        };
        assert!(why.contains("mysql") && !why.contains("hunter2"), "{why}");
    }
}
