//! The page of reports, built from `dashboard/` and committed, so that a build of the command needs no Node.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use xtask::output_of;

const COMMITTED: &str = "crates/cli/src/report/page.html";

/// Builds the page and puts it in its place, or only checks that what stands there is what would be built.
///
/// Without npm a check is left out, and says so.
pub fn run(root: &Path, check: bool) -> Result<()> {
    let has_npm = Command::new("npm").arg("--version").output().is_ok_and(|output| output.status.success());
    if check && !has_npm {
        eprintln!("dashboard: NOT CHECKED: there is no npm to build {COMMITTED} with");
        return Ok(());
    }
    output_of(root, "npm", &["--prefix", "dashboard", "ci", "--silent"])?;
    output_of(root, "npm", &["--prefix", "dashboard", "run", "--silent", "build"])?;
    let built = root.join("dashboard/dist/page.html");
    let page = fs::read(&built).with_context(|| format!("cannot read {}", built.display()))?;
    let committed = root.join(COMMITTED);
    if fs::read(&committed).unwrap_or_default() == page {
        println!("dashboard: {COMMITTED} is what dashboard/ builds, {} KiB", page.len() >> 10);
        return Ok(());
    }
    if check {
        bail!("{COMMITTED} is not what dashboard/ builds: run `cargo xtask dashboard` and commit it");
    }
    fs::write(&committed, page).with_context(|| format!("cannot write {}", committed.display()))
}
