//! Errors of the pager.

use std::io;
use std::path::PathBuf;

use hotset_core::setting::SettingName;
use hotset_core::spec::SpecError;
use hotset_core::words::reason;

/// A reason for which memory is not paged.
#[derive(Debug, thiserror::Error)]
pub enum PagerError {
    /// The kernel lacks a feature, or a sandbox denies it.
    #[error(
        "cannot page memory: {what}: {}; Linux 6.7 or later is needed, without a sandbox that denies the call",
        reason(source)
    )]
    Kernel {
        /// The feature.
        what: &'static str,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The kernel has pages of another size.
    #[error("cannot page memory: pages have {0} bytes; the pager needs 4096")]
    PageSize(usize),
    /// Files cannot be made in the folder for pages.
    #[error("{}: {}; choose a folder on ext4 or XFS by {}", path.display(), reason(source), SettingName("swap"))]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The folder is on a file system on which the pager was not tried.
    #[error("{}: the file system is neither ext4 nor XFS; choose a folder on one of them by {}", .0.display(), SettingName("swap"))]
    FileSystem(PathBuf),
    /// Pages of files do not leave the page cache on demand.
    #[error("{}: written pages do not leave the page cache; choose another folder by {}", .0.display(), SettingName("swap"))]
    Stays(PathBuf),
    /// The address space is too small.
    #[error("cannot page memory: the address space is limited; raise the limit of the shell (`ulimit -v`)")]
    AddressSpace,
    /// The device failed to write pages. A page may be read back wrongly, so the program must end.
    #[error("{}: pages cannot be written: {}; the program must end, and the device be checked", path.display(), reason(source))]
    Lost {
        /// The folder.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The memory is too small to page in.
    #[error("{}: at least 4M is needed", SettingName("memory"))]
    Memory,
    /// The policy cannot run on faults.
    #[error("{0}")]
    Policy(#[from] SpecError),
}

/// The result of a call of the C library that returns -1 on failure.
pub(crate) fn checked(returned: i64) -> io::Result<i64> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_settings() {
        let message = PagerError::FileSystem("/run".into()).to_string();
        assert!(message.starts_with("/run: ") && message.ends_with("by `swap`"), "{message}");
    }
}
