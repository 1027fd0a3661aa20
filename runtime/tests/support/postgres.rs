//! A PostgreSQL server for tests: their own cluster from the programs that are found, on a socket in a temporary folder, gone when the tests are; or the server
//! of `DATABASE_URL`, whose user may make databases.
//!
//! A shell watches over the server: it reads from a pipe that only the process of the tests holds open. However that one ends, the pipe ends with it, and the
//! shell stops the server and takes the folder away.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The name of the database's user.
const USER: &str = "ltc";

/// Runs the server until standard input ends or a line says so. `$1` is the program, `$2` the folder, `$3` is empty where the folder stays.
const WATCH: &str = r#"
"$1" -D "$2/data" -k "$2" -c listen_addresses= -c fsync=off -c max_connections=200 -c log_min_messages=fatal >"$2/log" 2>&1 &
server=$!
read -r word
kill -INT $server
wait $server
[ "$word" = stop ] || rm -rf "$2"
"#;

/// A server of ours, or the one of `DATABASE_URL`.
pub enum Postgres {
    /// Ours.
    Own(Cluster),
    /// The address.
    Given(String),
}

/// A cluster that is ours.
pub struct Cluster {
    programs: PathBuf,
    folder: PathBuf,
    watch: Mutex<Option<Child>>,
}

impl Postgres {
    /// The server that the tests of this process share; `None`, with a word about it, where there is none.
    pub fn shared() -> Option<Arc<Postgres>> {
        static SHARED: OnceLock<Option<Arc<Postgres>>> = OnceLock::new();
        let start = || match std::env::var("DATABASE_URL") {
            Ok(address) => Some(Arc::new(Postgres::Given(address))),
            Err(_) => Cluster::start().map(|cluster| Arc::new(Postgres::Own(cluster))),
        };
        SHARED.get_or_init(start).clone()
    }

    /// Makes a database of its own for a test.
    pub fn database(self: &Arc<Self>) -> Database {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("ltc_test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        Database { server: self.clone(), name }
    }

    fn sql(&self, database: &str, text: &str) {
        let psql = match self {
            Postgres::Own(cluster) => cluster.programs.join("psql"),
            Postgres::Given(_) => PathBuf::from("psql"),
        };
        let done = Command::new(&psql).args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", text, "-d"]).arg(self.address(database)).output();
        let done = done.unwrap_or_else(|e| panic!("{}: {e}", psql.display()));
        assert!(done.status.success(), "{text}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn address(&self, database: &str) -> String {
        match self {
            Postgres::Own(cluster) => cluster.address(database),
            Postgres::Given(address) => {
                let (address, options) = address.split_once('?').unwrap_or((address, ""));
                let server = address.match_indices('/').nth(2).map_or(address, |(end, _)| &address[..end]);
                format!("{server}/{database}{}{options}", if options.is_empty() { "" } else { "?" })
            }
        }
    }
}

/// A database of a test, dropped with it.
pub struct Database {
    server: Arc<Postgres>,
    name: String,
}

impl Database {
    /// Its address.
    pub fn address(&self) -> String {
        self.server.address(&self.name)
    }

    /// Does a statement in it.
    pub fn sql(&self, text: &str) {
        self.server.sql(&self.name, text);
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A cluster of ours goes as a whole.
        if let Postgres::Given(_) = *self.server {
            self.server.sql("postgres", &format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}

impl Cluster {
    /// Starts a server; `None` where PostgreSQL is not on this machine, which a CI does not take.
    pub fn start() -> Option<Cluster> {
        let Some(programs) = programs() else {
            assert!(
                std::env::var("CI").as_deref() != Ok("true"),
                "PostgreSQL is missing: initdb is neither on PATH nor under /usr/lib/postgresql"
            );
            eprintln!("skipped: PostgreSQL is not on this machine, and DATABASE_URL is not set");
            return None;
        };
        // The path of a socket is at most some hundred bytes long.
        let folder = tempfile::Builder::new().prefix("ltc-pg-").tempdir_in("/tmp").expect("a temporary folder").keep();
        let cluster = Cluster { programs, folder, watch: Mutex::new(None) };
        if let Some((user, group)) = cluster.other_user() {
            chown(&cluster.folder, Some(user), Some(group)).expect("the folder is ours");
        }
        let mut initdb = cluster.command(&cluster.programs.join("initdb"));
        initdb.args(["-A", "trust", "-U", USER, "-E", "UTF8", "--no-locale", "--no-sync", "-D"]).arg(cluster.folder.join("data"));
        let made = initdb.output().expect("initdb runs");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        cluster.start_again();
        Some(cluster)
    }

    /// The address of one of its databases.
    pub fn address(&self, database: &str) -> String {
        format!("postgres://{USER}@{}/{database}", self.folder.display().to_string().replace('/', "%2F"))
    }

    /// Starts the server after a stop, and waits until it answers.
    pub fn start_again(&self) {
        let mut watch = self.command(Path::new("/bin/sh"));
        // A group of its own: an interrupt at the terminal ends the tests, and the end of the tests ends the server.
        watch.args(["-c", WATCH, "watch"]).arg(self.programs.join("postgres")).arg(&self.folder).process_group(0);
        let child = watch.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a shell");
        *self.watch.lock().expect("no test panics here") = Some(child);
        let begun = Instant::now();
        loop {
            let mut ask = Command::new(self.programs.join("pg_isready"));
            let answer = ask.args(["-q", "-d"]).arg(self.address("postgres")).status().expect("pg_isready runs");
            if answer.success() {
                return;
            }
            let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(30), "PostgreSQL does not start: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops the server at once; what it keeps stays.
    pub fn stop(&self) {
        self.end(b"stop\n");
    }

    fn end(&self, word: &[u8]) {
        let child = self.watch.lock().unwrap_or_else(|e| e.into_inner()).take();
        if let Some(mut child) = child {
            use std::io::Write;
            // Where the shell is gone there is nothing to tell it.
            let _ = child.stdin.take().map(|mut pipe| pipe.write_all(word));
            let _ = child.wait();
        }
    }

    /// A command as somebody who may run a server: PostgreSQL refuses root.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env("LC_ALL", "C");
        if let Some((user, group)) = self.other_user() {
            command.uid(user).gid(group);
        }
        command
    }

    /// The user and the group that run the server where the tests are root's.
    fn other_user(&self) -> Option<(u32, u32)> {
        let own = fs::metadata("/proc/self").or_else(|_| fs::metadata(&self.folder)).expect("somebody runs this").uid();
        if own != 0 {
            return None;
        }
        let users = fs::read_to_string("/etc/passwd").expect("a list of users");
        let user = |name: &str| {
            let mut parts = users.lines().find(|line| line.split(':').next() == Some(name))?.split(':').skip(2);
            Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
        };
        Some(user("postgres").or_else(|| user("nobody")).expect("a user that is not root"))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end(b"end\n");
    }
}

/// The folder of PostgreSQL's programs, of the newest version where there are several.
fn programs() -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = versions.map(|version| version.path()).collect();
    versions.sort_by_key(|path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()));
    let installed = versions.into_iter().rev().map(|version| version.join("bin"));
    let has_all = |folder: &PathBuf| {
        let is_program = |path: PathBuf| fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
        ["initdb", "postgres", "psql", "pg_isready"].iter().all(|name| is_program(folder.join(name)))
    };
    on_path.into_iter().chain(installed).find(has_all)
}
