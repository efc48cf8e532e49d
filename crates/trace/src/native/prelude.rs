//! The first 24 bytes of a file.

use xxhash_rust::xxh3::xxh3_64;

use super::Fault;

/// Bytes of a prelude.
pub(super) const BYTES: usize = 24;

/// The first eight bytes of every `.hst` file.
pub(crate) const MAGIC: [u8; 8] = *b"\x89hst\r\n\x1a\n";

const MAJOR: u16 = 1;
const MINOR: u16 = 0;
/// Flags that a reader must know.
const ESSENTIAL_FLAGS: u32 = 0xffff;

/// The prelude of this version.
pub(super) fn write() -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..10].copy_from_slice(&MAJOR.to_le_bytes());
    bytes[10..12].copy_from_slice(&MINOR.to_le_bytes());
    let checksum = xxh3_64(&bytes[..16]);
    bytes[16..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Gives the prelude of a file the checksum that fits it.
pub(super) fn reseal(file: &mut [u8]) {
    if let Some(prelude) = file.first_chunk_mut::<BYTES>() {
        let checksum = xxh3_64(&prelude[..16]);
        prelude[16..].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// Checks the first bytes of a file, which may be fewer than a prelude has.
pub(super) fn check(bytes: &[u8]) -> Result<(), Fault> {
    if !bytes.starts_with(&MAGIC) {
        let found = &bytes[..bytes.len().min(MAGIC.len())];
        return Err(format!(
            "found \"{}\", expected the first bytes of a .hst trace, \"{}\"",
            found.escape_ascii(),
            MAGIC.escape_ascii()
        ));
    }
    let Ok(bytes) = <&[u8; BYTES]>::try_from(bytes) else {
        return Err(format!("the file ends after {} bytes; expected a .hst prelude of {BYTES}", bytes.len()));
    };
    let major = u16::from_le_bytes([bytes[8], bytes[9]]);
    if major != MAJOR {
        return Err(format!("the trace is in version {major} of the format; this program reads version {MAJOR}"));
    }
    let checksum = u64::from_le_bytes(bytes[16..].try_into().expect("eight bytes"));
    if checksum != xxh3_64(&bytes[..16]) {
        return Err("the prelude is damaged: its checksum does not fit".to_owned());
    }
    let flags = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes"));
    if flags & ESSENTIAL_FLAGS != 0 {
        return Err(format!("the trace needs features {flags:#x} that this program does not know"));
    }
    Ok(())
}
