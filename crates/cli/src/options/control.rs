//! What mounts and steering say of their sockets and pages.

use std::io;
use std::sync::Arc;

use hotset_mount::Device;
use hotset_serve::control::{self, AskError, Listening, Socket, Subject};

use crate::failure::Failure;
use crate::output::note;

/// Listens at `HOST:PORT`, as `--listen` says.
pub(crate) fn listen(wanted: &str) -> Result<Listening, Failure> {
    Failure::unless(cfg!(feature = "view"), "pages over HTTP", "view")?;
    Listening::bind(wanted).map_err(|error| {
        Failure::Work(format!(
            "--listen: cannot listen at {wanted}: {error}; expected HOST:PORT of this machine, as 127.0.0.1:9400"
        ))
    })
}

/// Serves the status as long as the process lives, and says where.
pub(crate) fn serve_status(listening: Listening, subject: Arc<dyn Subject>) -> Result<(), Failure> {
    let address = listening.serve(subject)?;
    note(format_args!("http://{address}/metrics and http://{address}/status tell how it goes"));
    Ok(())
}

/// Answers clients of a mount until the returned value is dropped. The mount also serves if no socket can be created.
pub(crate) fn serve_mount(device: io::Result<Device>, subject: Arc<dyn Subject>) -> Option<Socket> {
    let served = device.and_then(|device| control::serve_mount(device, subject));
    let explain =
        |error| note(format_args!("the mount works, but `hotset ctl` and `hotset top` cannot reach it: {error}"));
    served.map_err(explain).ok()
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Failure {
        Failure::Work(error.to_string())
    }
}
