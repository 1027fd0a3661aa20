//! Runs that are killed, again and again, at every point there is: what was recorded is not done again, what is in doubt is asked about, and the end is the same.

#![cfg(unix)]

#[path = "../runtime/tests/support/postgres.rs"]
#[allow(dead_code)] // It has more than is used here.
mod postgres;
mod support;
#[path = "support/trial.rs"]
mod trial;

use trial::{Figures, Kill, Trial, When};

/// Where runs are kept.
enum Kind {
    Sqlite,
    Postgres(std::sync::Arc<postgres::Postgres>),
}

/// SplitMix64: the same kills for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// Runs one workflow to its end through kills drawn from `seed`, at most `most` of them.
fn killed_at_random(kind: &Kind, seed: u64, most: usize) -> Figures {
    let mut random = Random(seed);
    let database = match kind {
        Kind::Sqlite => None,
        Kind::Postgres(server) => Some(server.database()),
    };
    let mut trial = Trial::new(database.as_ref().map(postgres::Database::address), &format!("seed {seed}"));
    while trial.figures.kills < most {
        let server = if random.below(2) == 0 { "a" } else { "b" };
        let when = match random.below(5) {
            0 => When::Before,
            1 => When::After,
            _ => When::Micros(random.below(12_000)),
        };
        let kill = if random.below(12) == 0 {
            Kill::Time(std::time::Duration::from_millis(random.below(400)))
        } else {
            Kill::Call { server, nth: 1 + random.below(4), when }
        };
        if trial.step(Some(kill)) {
            break;
        }
    }
    trial.finished()
}

fn report(name: &str, trials: usize, figures: &Figures) {
    eprintln!("{name}: {trials} runs, {figures}");
}

#[test]
fn a_killed_run_ends_as_if_nobody_had_killed_it() {
    let mut all = Figures::default();
    for seed in 0..3 {
        all.add(&killed_at_random(&Kind::Sqlite, seed, 4));
    }
    report("sample", 3, &all);
    assert!(all.kills >= 8, "{all}");
}

#[test]
fn a_kill_around_a_question_or_in_a_workflow_within_loses_nothing() {
    let mut all = Figures::default();
    for (server, key, when) in [
        ("a", "left", When::Micros(4_000)),
        ("a", "left", When::Micros(9_000)),
        ("b", "sub:one", When::Before),
        ("b", "sub:one", When::After),
        ("a", "sub:two", When::Micros(2_000)),
        ("a", "last", When::Micros(3_000)),
    ] {
        let mut trial = Trial::new(None, key);
        let has_ended = trial.step(Some(Kill::Step { server, key, when }));
        assert!(!has_ended || key == "last", "nobody was killed at {key}");
        all.add(&trial.finished());
    }
    report("places", 6, &all);
    assert!(all.kills >= 4, "{all}");
}

fn is_slow() -> bool {
    std::env::var_os("LTC_SLOW").is_some()
}

#[test]
fn hundreds_of_kills_on_sqlite() {
    if is_slow() {
        many("SQLite", &Kind::Sqlite, 520);
    }
}

#[test]
fn hundreds_of_kills_on_postgresql() {
    if let Some(server) = is_slow().then(postgres::Postgres::shared).flatten() {
        many("PostgreSQL", &Kind::Postgres(server), 200);
    }
}

/// A timer of more than two seconds lets go of the run, which is killed before, while, and after.
#[test]
fn kills_around_a_long_timer() {
    if !is_slow() {
        return;
    }
    let mut all = Figures::default();
    for micros in [1_000, 6_000, 20_000, 300_000, 1_500_000, 2_150_000] {
        let mut trial = Trial::with_pause(None, "a long timer", "2100ms");
        trial.step(Some(Kill::Step { server: "a", key: "again@3", when: When::Micros(micros) }));
        all.add(&trial.finished());
    }
    report("long timer", 6, &all);
    assert!(all.kills >= 5, "{all}");
}

fn many(name: &str, kind: &Kind, kills: usize) {
    let (mut all, mut trials) = (Figures::default(), 0);
    for seed in 1000.. {
        all.add(&killed_at_random(kind, seed, 40));
        trials += 1;
        if all.kills >= kills {
            break;
        }
    }
    report(name, trials, &all);
}
