//! What the tests that run programs share.

use std::process::{Command, Stdio};

use hotset_testkit::inputs::skip;

/// True if strace can be used here; otherwise the test is left out, and says so.
pub fn can_trace() -> bool {
    let tried = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        skip("strace is missing or may not trace");
    }
    can
}
