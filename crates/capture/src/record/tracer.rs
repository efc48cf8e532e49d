//! strace: its flags, whether it works here, and its command line.

use std::{
    ffi::{OsStr, OsString},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::RecordError;

/// The flags a log is made with; `docs/reference/strace.md` says what each is for. A `?` lets strace pass over a call
/// that the machine's architecture does not have.
pub const FLAGS: [&str; 8] = [
    "-f",
    "--seccomp-bpf",
    "-ttt",
    "-y",
    "-s0",
    "-I3",
    "-esignal=none",
    concat!(
        "-etrace=%file,read,pread64,readv,preadv,?preadv2,write,pwrite64,writev,pwritev,?pwritev2,",
        "?sendfile,?sendfile64,?copy_file_range,splice,?mmap,?mmap2,?lseek,?_llseek,close,?close_range,",
        "dup,?dup2,dup3,?fcntl,?fcntl64,?fstat,?fstat64,fchdir,getdents64,?getdents,?ftruncate,?ftruncate64,",
        "fallocate,fsync,fdatasync,?sync_file_range,?fgetxattr,?flistxattr,clone,?clone3,?fork,?vfork,unshare,",
        "?io_uring_setup,?io_setup"
    ),
];

/// The command that runs `command` and writes its log to `log`.
pub(super) fn command(log: &Path, command: &[OsString]) -> Command {
    let mut strace = Command::new("strace");
    strace.args(FLAGS).arg("-o").arg(log).arg("--").args(command);
    strace
}

/// Makes sure that strace is there, knows the flags and may trace.
pub(super) fn check() -> Result<(), RecordError> {
    let mut strace = command(Path::new("/dev/null"), &["/bin/sh", "-c", ":"].map(OsString::from));
    let output = strace.stdin(Stdio::null()).output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => RecordError::NoStrace,
        _ => RecordError::System { doing: "cannot start strace", source: error },
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().trim().to_owned();
    match said.contains("ptrace") || said.contains("ermitted") {
        true => Err(RecordError::NotPermitted { said }),
        false => Err(RecordError::Unfit { said }),
    }
}

/// Makes sure that there is a program to run: by path, or by name in `PATH`.
pub(crate) fn find_program(command: &[OsString]) -> Result<PathBuf, RecordError> {
    let name = command.first().ok_or(RecordError::NoCommand)?;
    let found = match Path::new(name).components().count() {
        1 if !name.as_encoded_bytes().contains(&b'/') => in_path(name),
        _ => Some(PathBuf::from(name)).filter(|path| is_executable(path)),
    };
    found.ok_or_else(|| RecordError::NoProgram { name: PathBuf::from(name) })
}

fn in_path(name: &OsStr) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
