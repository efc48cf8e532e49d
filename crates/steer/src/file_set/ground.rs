//! The steered file set, and the actions on its pages: directories that are walked, or another source of files.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use hotset_feed::{Event, FileId};

use crate::error::SteerError;
use crate::file_set::files::Files;
use crate::kernel::actuate::{Actuator, Advice};

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// The changes of the file set.
#[derive(Debug, Default)]
pub struct Changes {
    /// New files, and those of another size or name.
    pub found: Vec<(FileId, Found)>,
    /// Files that are there no more. They come before those that were found.
    pub gone: Vec<FileId>,
}

/// Files that are steered, and what acts on their pages.
pub trait Ground: Actuator {
    /// The device of a file system all of whose files are steered, from the first page on that the kernel has of them.
    fn device(&self) -> Option<u64> {
        None
    }

    /// Handles a page event of the kernel; some sources learn of files from them, too.
    fn hear(&mut self, _event: &Event) {}

    /// Returns the changes since the last call; the first call returns all files. It is called often, so it searches
    /// only when that is worthwhile.
    ///
    /// # Errors
    ///
    /// The source of files has failed.
    fn changes(&mut self) -> Result<Option<Changes>, SteerError>;

    /// How many files there are.
    fn files(&self) -> usize;

    /// All of them, as last reported.
    fn all(&self) -> Vec<(FileId, Found)>;

    /// The pages of a file that the kernel holds now.
    ///
    /// # Errors
    ///
    /// The file cannot be looked at, or is another one by now.
    fn resident(&mut self, file: FileId) -> io::Result<Vec<Range<u64>>>;

    /// There is nothing to do for now.
    fn rest(&mut self) {}
}

/// All files below some directories.
#[derive(Debug)]
pub struct Directories {
    files: Files,
    advice: Advice,
}

impl Directories {
    /// The files below these, which `advice` acts on.
    pub(crate) fn new(directories: Vec<PathBuf>, advice: Advice) -> Directories {
        Directories { files: Files::new(directories), advice }
    }
}

impl Actuator for Directories {
    fn drop(&mut self, file: FileId, pages: Range<u64>) -> io::Result<()> {
        self.advice.drop(file, pages)
    }

    fn fetch(&mut self, file: FileId, pages: Range<u64>) -> io::Result<()> {
        self.advice.fetch(file, pages)
    }

    fn is_mapped(&mut self, file: FileId, process: u32) {
        self.advice.is_mapped(file, process);
    }

    fn has_mapped(&mut self, file: FileId, page: u64) -> bool {
        self.advice.has_mapped(file, page)
    }
}

impl Ground for Directories {
    fn hear(&mut self, event: &Event) {
        self.files.hear(event);
    }

    fn changes(&mut self) -> Result<Option<Changes>, SteerError> {
        if !self.files.is_due() {
            return Ok(None);
        }
        let changes = self.files.walk()?;
        changes.gone.iter().for_each(|&file| self.advice.forget(file));
        changes.found.iter().for_each(|(id, file)| self.advice.know(*id, file.path.clone()));
        Ok(Some(changes))
    }

    fn files(&self) -> usize {
        self.files.len()
    }

    fn all(&self) -> Vec<(FileId, Found)> {
        self.files.all()
    }

    fn resident(&mut self, file: FileId) -> io::Result<Vec<Range<u64>>> {
        let resident = self.advice.resident(file)?;
        // It may have grown since the walk, before page events were enabled.
        resident.last().into_iter().for_each(|pages| self.files.doubt(file, pages.end - 1));
        Ok(resident)
    }

    fn rest(&mut self) {
        self.advice.close();
    }
}
