//! Shared by the tests that run programs.
#![allow(dead_code, reason = "not every file of tests uses all of it")]

use std::path::Path;
use std::process::{Command, Stdio};

use hotset_feed::calls::{CallOptions, Calls};
use hotset_testkit::inputs::skip;

/// True if the kernel's side can be asked here; otherwise the test is left out, and says why.
pub fn can_ask_kernel() -> bool {
    can_record(&CallOptions::default())
}

/// True if it can also be asked what the page cache had; otherwise the test is left out, and says why.
pub fn can_ask_page_cache() -> bool {
    can_record(&CallOptions { page_cache: true, ..CallOptions::default() })
}

/// The same for callers without it.
pub fn has_page_cache() -> bool {
    Calls::open(&CallOptions { page_cache: true, ..CallOptions::default() }).is_ok()
}

fn can_record(choice: &CallOptions) -> bool {
    let tried = Calls::open(choice);
    if let Err(refusal) = &tried {
        skip(&refusal.to_string());
    }
    tried.is_ok()
}

/// True if strace can be used here; otherwise the test is left out, and says so.
pub fn can_trace() -> bool {
    let tried = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        skip("strace is missing or may not trace");
    }
    can
}

/// Compiles a C program with the system's compiler.
pub fn compile(source: &Path, program: &Path) {
    let status = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(program).arg(source).status();
    assert!(status.is_ok_and(|status| status.success()), "`cc` cannot compile {}", source.display());
}
