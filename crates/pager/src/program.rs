//! Refuses programs into which a library cannot be loaded.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use hotset_core::words::reason;

/// Interpreters of interpreters that are followed, as the kernel does.
const DEPTH: u32 = 5;

/// A program that cannot be paged.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It cannot be read.
    #[error("{}: {}", .0.display(), reason(.1))]
    Unreadable(PathBuf, io::Error),
    /// It cannot be paged for this reason.
    #[error("{}: cannot page its memory: {}; run it without hotset", .0.display(), .1)]
    Unsupported(PathBuf, &'static str),
}

/// Checks that the loader would load a library into the program at `path`, or into its interpreter.
pub fn check(path: &Path) -> Result<(), ProgramError> {
    check_at(path, 0)
}

fn check_at(path: &Path, depth: u32) -> Result<(), ProgramError> {
    let unreadable = |error| ProgramError::Unreadable(path.to_owned(), error);
    let unsupported = |why| Err(ProgramError::Unsupported(path.to_owned(), why));
    let mode = fs::metadata(path).map_err(unreadable)?.mode();
    if mode & 0o6000 != 0 {
        return unsupported("it runs with the rights of another user (set-user-id or set-group-id)");
    }
    if has_capabilities(path) {
        return unsupported("its file has capabilities");
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut head = Vec::new();
    (&file).take(4096).read_to_end(&mut head).map_err(unreadable)?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
        let Some(interpreter) = words.next() else { return unsupported("its first line names no interpreter") };
        return match depth < DEPTH {
            true => check_at(&PathBuf::from(OsString::from_vec(interpreter.to_vec())), depth + 1),
            false => unsupported("its interpreter is a script of a script"),
        };
    }
    match interpreter_of(&file, &head) {
        Some(true) => Ok(()),
        Some(false) => unsupported("it is linked statically"),
        None => unsupported("it is not a program of this machine's kind"),
    }
}

/// True if the file has capabilities, for which the loader ignores libraries to preload.
fn has_capabilities(path: &Path) -> bool {
    rustix::fs::getxattr(path, "security.capability", &mut [0u8; 64]).is_ok()
}

/// True if an ELF file of this machine names a loader; `None` for other files.
fn interpreter_of(file: &File, head: &[u8]) -> Option<bool> {
    const PT_INTERP: u32 = 3;
    const MACHINE: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    let at = |offset: usize, len: usize| head.get(offset..offset + len);
    let is_elf = head.starts_with(b"\x7fELF\x02\x01") && at(18, 2)? == MACHINE.to_le_bytes();
    if !is_elf {
        return None;
    }
    let offset = u64::from_le_bytes(at(32, 8)?.try_into().ok()?);
    let size = u16::from_le_bytes(at(54, 2)?.try_into().ok()?);
    let count = u16::from_le_bytes(at(56, 2)?.try_into().ok()?);
    for number in 0..u64::from(count) {
        let mut kind = [0; 4];
        let place = number.checked_mul(size.into())?.checked_add(offset)?;
        file.read_exact_at(&mut kind, place).ok()?;
        if u32::from_le_bytes(kind) == PT_INTERP {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn script(text: &[u8], mode: u32) -> tempfile::TempPath {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
        file.into_temp_path()
    }

    #[test]
    fn programs_with_a_loader_and_their_scripts_are_served() {
        check(&std::env::current_exe().unwrap()).unwrap();
        check(Path::new("/bin/sh")).unwrap();
        check(&script(b"#! /bin/sh -e\nexit\n", 0o755)).unwrap();
    }

    #[test]
    fn others_are_refused_with_a_reason() {
        let refused = |text: &[u8], mode, why: &str| {
            let message = check(&script(text, mode)).unwrap_err().to_string();
            assert!(message.contains(why), "{message}");
        };
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        refused(&own, 0o4755, "another user");
        refused(b"text", 0o755, "not a program");
        refused(b"", 0o755, "not a program");
        refused(&own[..60], 0o755, "not a program");
        refused(b"#!\n", 0o755, "no interpreter");
        refused(b"#!/none/such\n", 0o755, "does not exist");
        let loops = script(b"", 0o755);
        fs::write(&loops, format!("#!{}\n", loops.display())).unwrap();
        assert!(check(&loops).unwrap_err().to_string().contains("script of a script"));
        // Without program headers, nothing names a loader.
        let mut bare = own[..4096].to_vec();
        bare[56..58].fill(0);
        refused(&bare, 0o755, "statically");
    }
}
