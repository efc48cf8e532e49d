//! Files that a command writes: never one that it reads, and never half of one.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hotset_core::words::reason;

use crate::failure::Failure;

/// Permissions of a new file, before the user's mask.
const MODE: u32 = 0o666;

/// A file to be written, checked before the work begins.
pub(crate) struct Destination {
    path: PathBuf,
    /// A pipe or device, which can only be written to as it is.
    special: bool,
}

impl Destination {
    /// Makes sure that `path` can be written and is none of `inputs`.
    pub(crate) fn new(path: &Path, inputs: &[PathBuf]) -> Result<Destination, Failure> {
        let shown = path.display();
        let Ok(about) = fs::metadata(path) else {
            return Destination::fresh(path);
        };
        if about.is_dir() {
            return Err(Failure::Work(format!("cannot write {shown}: it is a directory; expected the name of a file")));
        }
        let identity = (about.dev(), about.ino());
        let same = |input: &&PathBuf| fs::metadata(input).is_ok_and(|about| (about.dev(), about.ino()) == identity);
        if let Some(input) = inputs.iter().find(same) {
            let message = format!("cannot write {shown}: it is the same file as the input {}", input.display());
            return Err(Failure::Usage(message));
        }
        File::options()
            .write(true)
            .open(path)
            .map_err(|error| Failure::Work(format!("cannot write {shown}: {}", reason(&error))))?;
        // A link stays a link: its target is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Ok(Destination { path, special: !about.is_file() })
    }

    /// A file that does not exist yet, in a directory that must.
    fn fresh(path: &Path) -> Result<Destination, Failure> {
        let destination = Destination { path: path.to_owned(), special: false };
        destination.temporary()?;
        Ok(destination)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// True for a file that can be read and changed while it is written; false for a pipe or device.
    pub(crate) fn is_regular(&self) -> bool {
        !self.special
    }

    /// Writes it: the file appears, or replaces what was there, when `write` is done. If that fails nothing has
    /// changed.
    pub(crate) fn write<T>(self, write: impl FnOnce(&mut File, &Path) -> Result<T, Failure>) -> Result<T, Failure> {
        let failed = |error| Failure::Work(format!("cannot write {}: {}", self.path.display(), reason(&error)));
        let named = |failure| match failure {
            Failure::Output(error) => failed(error),
            other => other,
        };
        if self.special {
            let mut file = File::options().write(true).open(&self.path).map_err(failed)?;
            return write(&mut file, &self.path).map_err(named);
        }
        let mut temporary = self.temporary()?;
        let done = write(temporary.as_file_mut(), &self.path).map_err(named)?;
        temporary.persist(&self.path).map_err(|error| failed(error.error))?;
        Ok(done)
    }

    /// Has `fill` write a file of its choice, which becomes this one. If that fails, nothing has changed.
    pub(crate) fn fill<T>(self, fill: impl FnOnce(&Path) -> Result<T, Failure>) -> Result<T, Failure> {
        if self.special {
            return fill(&self.path);
        }
        let temporary = self.temporary()?.into_temp_path();
        let shown = self.path.display();
        // Messages name the file that the user knows.
        let named = |message: String| message.replace(&temporary.display().to_string(), &shown.to_string());
        let failed = |error| Failure::Work(format!("cannot write {shown}: {}", reason(&error)));
        let done = fill(&temporary).map_err(|failure| match failure {
            Failure::Work(message) => Failure::Work(named(message)),
            Failure::Usage(message) => Failure::Usage(named(message)),
            Failure::Output(error) => failed(error),
            other => other,
        })?;
        temporary.persist(&self.path).map_err(|error| failed(error.error))?;
        Ok(done)
    }

    /// A temporary file in the same directory, which is removed when it is dropped.
    fn temporary(&self) -> Result<tempfile::NamedTempFile, Failure> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(".hotset-").permissions(fs::Permissions::from_mode(MODE));
        builder.tempfile_in(folder).map_err(|error| {
            let shown = self.path.display();
            match error.kind() {
                io::ErrorKind::NotFound => Failure::Work(format!(
                    "cannot write {shown}: the directory {} does not exist; create it first",
                    folder.display()
                )),
                io::ErrorKind::NotADirectory => {
                    Failure::Work(format!("cannot write {shown}: {} is not a directory", folder.display()))
                }
                reason => {
                    Failure::Work(format!("cannot write {shown} into the directory {}: {reason}", folder.display()))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn message(failure: Failure) -> String {
        match failure {
            Failure::Work(message) | Failure::Usage(message) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let failed = Destination::new(&path, &[]).unwrap().write(|file, _| -> Result<(), Failure> {
            file.write_all(b"half")?;
            Err(Failure::Work("broke".to_owned()))
        });
        assert_eq!(message(failed.unwrap_err()), "broke");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        Destination::new(&path, &[]).unwrap().write(|file, _| Ok(file.write_all(b"whole")?)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
    }

    #[test]
    fn a_file_that_others_fill_keeps_its_content_if_they_fail() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        fs::write(&path, "before").unwrap();
        let failed = Destination::new(&path, &[]).unwrap().fill(|other| -> Result<(), Failure> {
            fs::write(other, "half")?;
            Err(Failure::Work(format!("{}: broke", other.display())))
        });
        assert_eq!(message(failed.unwrap_err()), format!("{}: broke", path.display()));
        assert_eq!(fs::read(&path).unwrap(), b"before");
        Destination::new(&path, &[]).unwrap().fill(|other| Ok(fs::write(other, "whole")?)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_input_is_not_overwritten_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&path, "x").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let refused = Destination::new(&link, &[path]).err().unwrap();
        assert!(message(refused).contains("the same file as the input"));
    }

    #[test]
    fn what_cannot_be_written_is_refused_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        assert!(message(Destination::new(folder.path(), &[]).err().unwrap()).contains("is a directory"));
        let nowhere = message(Destination::new(&folder.path().join("no/where"), &[]).err().unwrap());
        assert!(nowhere.contains("does not exist") && nowhere.ends_with("create it first"), "{nowhere}");
    }

    #[test]
    fn a_device_is_written_to_and_stays() {
        let null = Path::new("/dev/null");
        Destination::new(null, &[]).unwrap().write(|file, _| Ok(file.write_all(b"x")?)).unwrap();
        assert!(!fs::metadata(null).unwrap().is_file());
    }
}
