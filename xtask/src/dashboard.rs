//! The page of reports and that of directories, built from `dashboard/` and committed, so that a build of the command
//! needs no Node.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use xtask::output_of;

/// Where the pages lie, under the names that they are built with.
const COMMITTED: &str = "crates/serve/src/report";
const PAGES: [&str; 2] = ["page.html", "live.html"];

/// Builds the pages and puts them in their place, or only compares the committed ones with a new build.
///
/// Without npm a check is left out, with a message.
pub fn run(root: &Path, check: bool) -> Result<()> {
    let has_npm = Command::new("npm").arg("--version").output().is_ok_and(|output| output.status.success());
    if check && !has_npm {
        eprintln!("dashboard: NOT CHECKED: npm is missing to build the pages in {COMMITTED} with");
        return Ok(());
    }
    output_of(root, "npm", &["--prefix", "dashboard", "ci", "--silent"])?;
    output_of(root, "npm", &["--prefix", "dashboard", "run", "--silent", "build"])?;
    PAGES.iter().try_for_each(|page| place(root, page, check))
}

fn place(root: &Path, name: &str, check: bool) -> Result<()> {
    let (built, committed) = (root.join("dashboard/dist").join(name), root.join(COMMITTED).join(name));
    let page = fs::read(&built).with_context(|| format!("cannot read {}", built.display()))?;
    if fs::read(&committed).unwrap_or_default() == page {
        println!("dashboard: {COMMITTED}/{name} is what dashboard/ builds, {} KiB", page.len() >> 10);
        return Ok(());
    }
    if check {
        bail!("{COMMITTED}/{name} is not what dashboard/ builds: run `cargo xtask dashboard` and commit it");
    }
    fs::write(&committed, page).with_context(|| format!("cannot write {}", committed.display()))
}
