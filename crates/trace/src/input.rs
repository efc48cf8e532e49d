//! The bytes of a trace: a file or standard input, decompressed, in large pieces, with progress.

use std::{
    error::Error,
    fmt,
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    TraceError,
    error::{OPENING, Place},
};

/// Bytes asked of the source at a time, few enough to stay in a processor's cache; also what [`crate::formats::Head`]
/// shows a format to be recognised by.
pub const PIECE_BYTES: usize = 128 * 1024;

/// Bytes that unpacking a file may take: the longest window that zstd can write (`--ultra --long=31`).
const FOR_FILES: u64 = 1 << 31;

/// Memory limit for unpacking files of others: the largest window that zstd accepts by default. `xz -9` takes half as
/// much.
const FOR_STRANGERS: u64 = 1 << 27;

/// How far a trace has been read, to be watched from another thread.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    bytes: Arc<AtomicU64>,
    total: Option<u64>,
}

impl Progress {
    /// Bytes taken from the file so far, before decompression.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes of the file, before decompression; `None` for pipes.
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// Records that `bytes` more have been taken from the file. For readers that open the file themselves.
    pub fn advance(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// How the bytes of a file are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// Zstandard frames, one or several, any window.
    Zstd,
    /// gzip members, one or several.
    Gzip,
    /// xz streams, one or several.
    Xz,
}

impl Compression {
    /// Bytes that [`Compression::of`] needs to see.
    const MAGIC_BYTES: usize = 6;

    /// Tells the compression from a file's first bytes.
    pub fn of(magic: &[u8]) -> Compression {
        match magic {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            // A skippable frame: seekable and parallel compressors begin with one.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            [0x1f, 0x8b, 8, ..] => Compression::Gzip,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
            _ => Compression::None,
        }
    }

    /// The name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "uncompressed",
            Compression::Zstd => "zstd",
            Compression::Gzip => "gzip",
            Compression::Xz => "xz",
        }
    }
}

/// The decompressed bytes of a trace. Holds the piece that is being read; bytes that are not consumed remain available
/// when more is read.
pub struct Input {
    path: PathBuf,
    source: Box<dyn Read + Send>,
    compression: Compression,
    /// Bytes that unpacking may take.
    memory: u64,
    progress: Progress,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    position: u64,
    forgiving: bool,
    damage: Option<String>,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path) -> Result<Input, TraceError> {
        if path == Path::new("-") {
            return Input::from_reader(path, io::stdin(), None);
        }
        let failed = |error| TraceError::io(path, OPENING, error);
        let file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        Input::from_reader(path, file, about.is_file().then_some(about.len()))
    }

    /// Reads from `source` under the name `path`; `total` is the source's size in bytes if known.
    pub fn from_reader(
        path: &Path,
        source: impl Read + Send + 'static,
        total: Option<u64>,
    ) -> Result<Input, TraceError> {
        Input::unpacking(path, source, total, FOR_FILES)
    }

    /// The same of what comes from another machine, and may be meant to fill this one's memory.
    pub fn from_stranger(
        path: &Path,
        source: impl Read + Send + 'static,
        total: Option<u64>,
    ) -> Result<Input, TraceError> {
        Input::unpacking(path, source, total, FOR_STRANGERS)
    }

    fn unpacking(
        path: &Path,
        source: impl Read + Send + 'static,
        total: Option<u64>,
        memory: u64,
    ) -> Result<Input, TraceError> {
        let failed =
            |error| TraceError::io(path, "cannot read the trace", of_source(error).unwrap_or_else(|error| error));
        let progress = Progress { bytes: Arc::default(), total };
        let mut counted = Counted { source, progress: progress.clone() };
        let mut magic = Vec::with_capacity(Compression::MAGIC_BYTES);
        counted.by_ref().take(Compression::MAGIC_BYTES as u64).read_to_end(&mut magic).map_err(failed)?;
        let compression = Compression::of(&magic);
        let source = unpack(compression, io::Cursor::new(magic).chain(counted), memory).map_err(failed)?;
        Ok(Input {
            path: path.to_owned(),
            source,
            compression,
            memory,
            progress,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            position: 0,
            forgiving: false,
            damage: None,
        })
    }

    /// From now on a broken compressed stream ends the input where it breaks, and [`Input::damage`] describes it,
    /// instead of being an error.
    pub fn forgive_damage(&mut self) {
        self.forgiving = true;
    }

    /// The problem of the compressed stream, if it was accepted: one sentence.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// The path this was opened by; `-` for standard input.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How the file is packed.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// A handle to watch how far the file has been read.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Decompressed bytes consumed so far: the offset of the first byte of [`Input::data`].
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The bytes at hand.
    pub fn data(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Steps over `count` bytes of those at hand.
    pub fn consume(&mut self, count: usize) {
        assert!(count <= self.end - self.start, "more bytes consumed than are at hand");
        self.start += count;
        self.position += count as u64;
    }

    /// Reads another piece behind the bytes at hand. False at the end of the input.
    pub fn more(&mut self) -> Result<bool, TraceError> {
        if self.damage.is_some() {
            return Ok(false);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let room = self.end + PIECE_BYTES;
        if self.buffer.len() < room {
            self.buffer.resize(room + room / 2, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.broken(error),
            }
        }
    }

    /// Reads until `count` bytes are at hand, or all that are left.
    pub fn at_least(&mut self, count: usize) -> Result<&[u8], TraceError> {
        while self.end - self.start < count && self.more()? {}
        Ok(self.data())
    }

    fn broken(&mut self, error: io::Error) -> Result<bool, TraceError> {
        let place = Place::Byte(self.position + (self.end - self.start) as u64);
        let error = match of_source(error) {
            Ok(error) => {
                return Err(TraceError { place, ..TraceError::io(&self.path, "cannot read the trace", error) });
            }
            Err(error) => error,
        };
        let name = self.compression.name();
        // Both libraries say so of what they would need more memory for than they may have.
        if error.to_string().contains("memory") {
            let most = self.memory >> 20;
            let message = format!("unpacking the {name} data takes more than {most} MiB: fetch it, and read the file");
            return Err(TraceError::new(&self.path, place, message));
        }
        let message = format!(
            "the {name} data is truncated or corrupt after {} compressed bytes ({error}); expected it to go on",
            self.progress.bytes()
        );
        let error = TraceError::new(&self.path, place, message);
        if !self.forgiving {
            return Err(error);
        }
        self.damage = Some(error.to_string());
        Ok(false)
    }
}

/// An error of the unpacked data, as opposed to those of unpacking.
#[derive(Debug)]
struct SourceError(io::Error);

impl Error for SourceError {}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The error of what is unpacked, if it is one.
fn of_source(error: io::Error) -> Result<io::Error, io::Error> {
    error.downcast::<SourceError>().map(|error| error.0)
}

/// Counts the bytes that pass, and marks errors as those of the source.
struct Counted<R> {
    source: R,
    progress: Progress,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer).map_err(|error| match error.kind() {
            // The reader tries it again.
            io::ErrorKind::Interrupted => error,
            _ => io::Error::other(SourceError(error)),
        })?;
        self.progress.advance(count as u64);
        Ok(count)
    }
}

fn unpack(
    compression: Compression,
    packed: impl Read + Send + 'static,
    memory: u64,
) -> io::Result<Box<dyn Read + Send>> {
    if compression == Compression::None {
        return Ok(Box::new(packed));
    }
    let packed = BufReader::with_capacity(PIECE_BYTES, packed);
    Ok(match compression {
        Compression::None => Box::new(packed),
        Compression::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(packed)?;
            decoder.window_log_max(memory.ilog2())?;
            Box::new(decoder)
        }
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
        Compression::Xz => {
            let stream = liblzma::stream::Stream::new_stream_decoder(memory, liblzma::stream::CONCATENATED)?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(packed, stream))
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn text() -> Vec<u8> {
        (0..200_000u32).flat_map(|n| format!("{}\n", n.wrapping_mul(2_654_435_761) >> 12).into_bytes()).collect()
    }

    fn zstd_frame(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 3).unwrap()
    }

    fn gzip_member(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn xz_stream(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn input(bytes: Vec<u8>) -> Input {
        let total = bytes.len() as u64;
        Input::from_reader(Path::new("t"), io::Cursor::new(bytes), Some(total)).unwrap()
    }

    fn read_all(input: &mut Input) -> Result<Vec<u8>, TraceError> {
        let mut all = Vec::new();
        loop {
            all.extend_from_slice(input.data());
            let count = input.data().len();
            input.consume(count);
            if !input.more()? {
                return Ok(all);
            }
        }
    }

    #[test]
    fn every_compression_gives_the_same_bytes_and_counts_its_own() {
        let text = text();
        type Pack = fn(&[u8]) -> Vec<u8>;
        let packers: [(Pack, Compression); 4] = [
            (<[u8]>::to_vec, Compression::None),
            (zstd_frame, Compression::Zstd),
            (gzip_member, Compression::Gzip),
            (xz_stream, Compression::Xz),
        ];
        for (pack, compression) in packers {
            // Two frames in one file are one stream.
            let (front, back) = text.split_at(text.len() / 3);
            let packed = [pack(front), pack(back)].concat();
            let size = packed.len() as u64;
            let mut input = input(packed);
            assert_eq!(input.compression(), compression);
            assert!(read_all(&mut input).unwrap() == text, "{compression:?}");
            assert_eq!((input.progress().bytes(), input.progress().total()), (size, Some(size)), "{compression:?}");
            assert_eq!(input.position(), text.len() as u64);
        }
    }

    #[test]
    fn a_long_window_is_read() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(FOR_FILES.ilog2()).unwrap();
        encoder.include_contentsize(false).unwrap();
        encoder.write_all(b"1\n2\n").unwrap();
        assert_eq!(read_all(&mut input(encoder.finish().unwrap())).unwrap(), b"1\n2\n");
    }

    #[test]
    fn a_skippable_frame_may_come_first() {
        let mut packed = vec![0x5e, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9];
        packed.extend(zstd_frame(b"7\n"));
        assert_eq!(read_all(&mut input(packed)).unwrap(), b"7\n");
    }

    #[test]
    fn a_cut_stream_is_an_error_with_its_place_or_an_end_if_forgiven() {
        let text = text();
        for packed in [zstd_frame(&text), gzip_member(&text), xz_stream(&text)] {
            let cut = packed[..packed.len() * 2 / 3].to_vec();
            let error = read_all(&mut input(cut.clone())).unwrap_err();
            assert!(matches!(error.place, Place::Byte(_)), "{error}");
            assert!(error.to_string().contains("truncated or corrupt after"), "{error}");

            let mut forgiving = input(cut);
            forgiving.forgive_damage();
            let front = read_all(&mut forgiving).unwrap();
            assert!(!front.is_empty() && text.starts_with(&front));
            assert!(forgiving.damage().unwrap().contains("truncated or corrupt"));
        }
    }

    #[test]
    fn a_stream_cut_anywhere_is_never_taken_for_whole() {
        let text = &text()[..5000];
        for packed in [zstd_frame(text), gzip_member(text), xz_stream(text)] {
            for length in Compression::MAGIC_BYTES..packed.len() {
                assert!(read_all(&mut input(packed[..length].to_vec())).is_err(), "{length} of {}", packed.len());
            }
        }
    }

    #[test]
    fn what_somebody_sends_is_unpacked_in_bounded_memory() {
        // A frame with a window of 256 MiB and a block of one byte.
        let zstd = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 18 << 3, 9, 0, 0, b'a'];
        // A dictionary of as much, whose first use of memory is refused.
        let mut options = liblzma::stream::LzmaOptions::new_preset(0).unwrap();
        options.dict_size(256 << 20).mode(liblzma::stream::Mode::Fast);
        let mut filters = liblzma::stream::Filters::new();
        filters.lzma2(&options);
        let stream = liblzma::stream::Stream::new_stream_encoder(&filters, liblzma::stream::Check::Crc32).unwrap();
        let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
        encoder.write_all(b"a").unwrap();
        for packed in [zstd, encoder.finish().unwrap()] {
            assert_eq!(read_all(&mut input(packed.clone())).unwrap(), b"a");
            let sent = Input::from_stranger(Path::new("t"), io::Cursor::new(packed), None);
            let error = read_all(&mut sent.unwrap()).unwrap_err().to_string();
            assert!(error.ends_with("takes more than 128 MiB: fetch it, and read the file"), "{error}");
        }
    }

    /// Gives bytes, then fails as what lies in a store does.
    struct Failing(io::Cursor<Vec<u8>>);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("the line is dead")),
                count => Ok(count),
            }
        }
    }

    #[test]
    fn what_the_source_fails_with_is_no_damage_and_is_not_forgiven() {
        let text = text();
        for packed in [text.clone(), zstd_frame(&text), gzip_member(&text), xz_stream(&text)] {
            let half = packed[..packed.len() / 2].to_vec();
            let mut input = Input::from_reader(Path::new("t"), Failing(io::Cursor::new(half)), None).unwrap();
            input.forgive_damage();
            let error = read_all(&mut input).unwrap_err().to_string();
            assert!(error.ends_with(": cannot read the trace: the line is dead"), "{error}");
        }
        let error = Input::from_reader(Path::new("t"), Failing(io::Cursor::default()), None).err().unwrap();
        assert_eq!(error.to_string(), "t: cannot read the trace: the line is dead");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Input::open(Path::new("/no/such.trace")).err().unwrap();
        assert!(error.to_string().starts_with("/no/such.trace: no such file"), "{error}");
    }
}
