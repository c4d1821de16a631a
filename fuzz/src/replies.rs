//! Responses of servers: all bytes from the status line on.

use std::io;
use std::time::Duration;

use goodarm_core::ArmId;
use goodarm_live::job::{Job, Overrides};
use goodarm_live::service::{CallContext, Dispatch, Verdict};
use goodarm_live::throttle::{CallLimits, Throttle};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use crate::folder;
use crate::job::ANSWERS;

struct Exchange {
    runtime: Runtime,
    listener: TcpListener,
    job: Job,
}

thread_local! {
    static EXCHANGE: Exchange = exchange();
}

/// A server with this response gives a failure or a finite score, which is from 0 to 1 unless the verifier is `http`.
pub(crate) fn receive(verifier: &str, bytes: &[u8]) {
    EXCHANGE.with(|Exchange { runtime, listener, job }| {
        for verifier in job.verifiers().iter().filter(|known| known.name.starts_with(verifier)) {
            let throttle = Throttle::new(CallLimits {
                concurrency: 2,
                rate: None,
                retries: Some(0),
                patience: Duration::ZERO,
            });
            let reply = runtime.block_on(async {
                let call = CallContext {
                    candidates: &job.candidates,
                    arm: ArmId(0),
                    attribute: verifier.lead,
                    order: 0,
                };
                let candidate = call.candidate();
                let Some(Dispatch::Later(task)) = verifier.service.dispatch(call) else {
                    panic!("it asks a server")
                };
                tokio::select! {
                    reply = verifier.service.call(&candidate, task, &throttle) => reply,
                    error = serve(listener, bytes, &throttle) => panic!("{error:?}"),
                }
            });
            if let Verdict::Score(score) | Verdict::Known(score) = reply.verdict {
                let is_free = verifier.name == "http";
                assert!(score.is_finite() && (is_free || (0.0..=1.0).contains(&score)), "{score}");
            }
        }
    });
}

/// Answers every request with these bytes, and closes the connection.
async fn serve(listener: &TcpListener, bytes: &[u8], throttle: &Throttle) -> io::Error {
    loop {
        let (mut stream, _) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => return error,
        };
        // Our requests are short and arrive in one piece.
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await;
        // Stops instead of retrying later, so that the target does not wait.
        if !bytes.starts_with(b"HTTP/1.1 200") {
            throttle.stop();
        }
        let _ = stream.write_all(bytes).await;
    }
}

fn exchange() -> Exchange {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0))).expect("a port");
    let address = listener.local_addr().expect("it is bound");
    folder::file("answers.jsonl", ANSWERS);
    let path = folder::file("replies.toml", JOB.replace("ADDRESS", &address.to_string()));
    let job = match Job::read(&path, &Overrides::default()) {
        Ok(job) => job,
        Err(error) => panic!("{error}"),
    };
    Exchange { runtime, listener, job }
}

const JOB: &str = include_str!("../jobs/replies.toml");
