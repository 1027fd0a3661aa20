//! Whether the process behind a lease is known to be gone, so that nobody waits for a lease that nobody renews.
//!
//! A worker's name says on which boot of which machine and in which process namespace it runs, and as which process. Only where all of that is this
//! process's own world can it be seen that a process is gone; everywhere else the lease has to run out.

use crate::clock::unique_name;
use crate::store::WorkerId;

/// The name of this process as a worker: no other worker, here or elsewhere, has it.
pub fn this_worker() -> WorkerId {
    let unique = unique_name();
    match world() {
        Some(world) => WorkerId(format!("{world}/{}/{unique}", std::process::id()).into()),
        None => WorkerId(unique.into()),
    }
}

/// Whether the process of `worker` ran here and has ended.
pub fn is_gone(worker: &WorkerId) -> bool {
    let Some((world_of_it, rest)) = worker.0.split_once('/') else { return false };
    let process = rest.split_once('/').and_then(|(process, _)| process.parse::<u32>().ok());
    match (world(), process) {
        (Some(world), Some(process)) if world == world_of_it => process != std::process::id() && !is_running(process),
        (_, _) => false,
    }
}

/// This boot of this machine, and this process namespace.
#[cfg(target_os = "linux")]
fn world() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    let digits: String = namespace.to_str()?.chars().filter(char::is_ascii_digit).collect();
    Some(format!("{}-{digits}", boot.trim()))
}

#[cfg(not(target_os = "linux"))]
fn world() -> Option<String> {
    None
}

/// A process that has ended and was not fetched by its parent yet (a zombie) runs no more.
#[cfg(target_os = "linux")]
fn is_running(process: u32) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return false };
    // The state stands behind the name, which is in parentheses and may hold some itself.
    status.rsplit_once(')').is_none_or(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

#[cfg(not(target_os = "linux"))]
fn is_running(_: u32) -> bool {
    true
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_of_this_world_can_be_seen_to_be_gone() {
        let own = this_worker();
        assert!(!is_gone(&own));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep can be started");
        let world = world().expect("Linux says which world this is");
        let of_child = WorkerId(format!("{world}/{}/x", child.id()).into());
        assert!(!is_gone(&of_child));
        child.kill().expect("it can be killed");
        // Even before it is fetched.
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(is_gone(&of_child));
        child.wait().expect("it has ended");
        assert!(is_gone(&of_child));
        assert!(!is_gone(&WorkerId(format!("elsewhere/{}/x", child.id()).into())));
        assert!(!is_gone(&WorkerId("20261130-1".into())));
    }
}
