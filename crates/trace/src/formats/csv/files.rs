//! The table of files beside a `csv` trace: `NAME.files.csv`, columns `id,kind,size,path`.

use std::path::{Path, PathBuf};

use hotset_core::request::Kind;

use super::quotes::{UNIT_SEPARATOR, unquote};
use crate::{
    Batch, FileInfo, Meta, TraceError, TraceReader,
    error::Place,
    formats::{OpenOptions, without_packing},
    input::Input,
    runner::{
        Malformed,
        fields::Fields,
        lines::{LineFormat, Lines, TextLine},
        number::{unexpected, whole},
        numbering::Numbering,
        text,
    },
};

/// The files of a trace, by what its file column calls them.
#[derive(Default)]
pub(super) struct Files {
    pub(super) numbers: Numbering,
    pub(super) infos: Vec<FileInfo>,
    pub(super) remarks: Vec<String>,
}

impl Files {
    /// The table beside the trace at `path`; empty if there is none.
    pub(super) fn beside(path: &Path, options: &OpenOptions) -> Result<Files, TraceError> {
        let Some(path) = table_path(path) else { return Ok(Files::default()) };
        let mut input = Input::open(&path)?;
        let names = super::take_line(&mut input)?;
        let order = columns(&names).map_err(|message| TraceError::new(&path, Place::Line(1), message))?;
        let table = Table { order, files: Files::default(), plain: Vec::new() };
        let mut lines = Lines::new(input, table, 2, options.skip_bad);
        // Rows of this table are not requests: one pass reads all of them.
        lines.read(&mut Batch::default())?;
        let skipped = lines.skipped();
        let mut files = lines.into_format().files;
        if skipped > 0 {
            files.remarks.push(format!("{}: {skipped} malformed lines were skipped", path.display()));
        }
        Ok(files)
    }
}

fn table_path(trace: &Path) -> Option<PathBuf> {
    let name = trace.file_name()?.to_str()?;
    let stem = Path::new(without_packing(name)).file_stem()?.to_str()?;
    ["", ".zst", ".gz", ".xz"]
        .into_iter()
        .map(|packed| trace.with_file_name(format!("{stem}.files.csv{packed}")))
        .find(|path| path.is_file())
}

#[derive(Clone, Copy)]
enum Column {
    Id,
    Kind,
    Size,
    Path,
}

fn columns(names: &[u8]) -> Result<Vec<Column>, Malformed> {
    let column = |name: &[u8]| match name.trim_ascii() {
        b"id" => Ok(Column::Id),
        b"kind" => Ok(Column::Kind),
        b"size" => Ok(Column::Size),
        b"path" => Ok(Column::Path),
        other => Err(unexpected(other, "the columns id,kind,size,path")),
    };
    Fields::new(TextLine::new(names), b',').map(column).collect()
}

struct Table {
    order: Vec<Column>,
    files: Files,
    plain: Vec<u8>,
}

impl LineFormat for Table {
    fn meta(&self) -> &Meta {
        &super::NO_META
    }

    fn line(&mut self, line: TextLine, _: &mut Batch) -> Result<(), Malformed> {
        unquote(&line, b',', &mut self.plain)?;
        let mut id = &b""[..];
        let mut info = FileInfo::default();
        let mut fields = Fields::new(TextLine::new(&self.plain), UNIT_SEPARATOR);
        for column in &self.order {
            let field = fields.next().ok_or_else(|| unexpected(b"", "one field for each column"))?;
            match column {
                Column::Id => id = field,
                Column::Kind => (info.kind, info.label) = (kind_of(field), text(field)),
                Column::Size if field.is_empty() => {}
                Column::Size => info.size = Some(whole(field).ok_or_else(|| unexpected(field, "a size in bytes"))?),
                Column::Path => info.path = text(field),
            }
        }
        let number = self.files.numbers.of(id)? as usize;
        if number == self.files.infos.len() {
            self.files.infos.push(info);
        } else {
            self.files.infos[number] = info;
        }
        Ok(())
    }
}

/// The kind of a trace's word. `other` has no meaning: it holds what does not belong to the trace's other words.
pub(super) fn kind_of(word: &[u8]) -> Kind {
    match word {
        b"" | b"unknown" | b"other" => Kind::Unknown,
        b"inode" => Kind::Inode,
        b"directory" | b"dir" => Kind::Directory,
        b"executable" | b"exec" | b"lib" | b"library" => Kind::Executable,
        b"device" | b"pipe" | b"socket" | b"stdin" | b"stdout" | b"stderr" => Kind::Other,
        _ => Kind::Datafile,
    }
}
