//! The limit of open files of the process: each request in flight has a socket, and each program its pipes.

use crate::job::Job;

/// The most files that a job may have open.
pub fn needed(job: &Job) -> usize {
    let of_services = job
        .services()
        .map(|it| it.service.manifest.files_per_request.saturating_mul(it.limits.concurrency));
    of_services.fold(OTHERS, usize::saturating_add)
}

/// Raises the limit of this process to the needed number, if allowed, and not further: programs that it starts
/// inherit the limit, and some of them become slower with a higher one. The error is a message for people about
/// what is missing.
#[cfg(unix)]
pub fn make_room(needed: usize) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let allowed = |limit: Option<u64>| {
        limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
    };
    if allowed(current) >= needed {
        return Ok(());
    }
    let raised = needed.min(allowed(maximum));
    let limit = Rlimit { current: Some(raised as u64), maximum };
    let allowed = setrlimit(Resource::Nofile, limit).map_or(allowed(current), |()| raised);
    if allowed >= needed {
        return Ok(());
    }
    Err(format!(
        "calls in flight may need {needed} sockets and pipes at once, and the system allows {allowed}: \
         raise its limit (ulimit -n {needed}), or lower concurrency"
    ))
}

/// Returns `Ok`: there is no limit to raise on systems other than Unix.
#[cfg(not(unix))]
pub const fn make_room(_: usize) -> Result<(), String> {
    Ok(())
}

/// The open files of everything but the services: the journal, the outputs, the live page and the runtime.
pub const OTHERS: usize = 64;
