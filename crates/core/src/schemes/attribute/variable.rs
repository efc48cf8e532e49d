//! Table 1 of the report: the parts by the total size of the cache.

use crate::policy::Part;
use crate::spec::{SpecError, Value};

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;

/// A row: the least total size, the size of `id`, the block size of what takes the rest, and size and block size of
/// `sequential`. Without a sequential part the rest is `general`, with one it is `temporal`.
struct Row(u64, u64, u64, Option<(u64, u64)>);

/// Bytes of an inode, and of the blocks that directories are kept in.
const ID_BLOCK: u64 = 128;

const TABLE: [Row; 10] = [
    Row(32 * K, 16 * K, 4 * K, None),
    Row(64 * K, 32 * K, 8 * K, None),
    Row(128 * K, 64 * K, 16 * K, None),
    Row(256 * K, 64 * K, 4 * K, Some((64 * K, 64 * K))),
    Row(1216 * K, 64 * K, 4 * K, Some((128 * K, 64 * K))),
    Row(1280 * K, 128 * K, 4 * K, Some((128 * K, 64 * K))),
    Row(6272 * K, 128 * K, 4 * K, Some((2 * M, 128 * K))),
    Row(20608 * K, 128 * K, 4 * K, Some((4 * M, 128 * K))),
    Row(26624 * K, 2 * M, 4 * K, Some((8 * M, 128 * K))),
    Row(36864 * K, 4 * M, 4 * K, Some((16 * M, 128 * K))),
];

/// Least bytes of a cache: below, a block of 512 bytes does not fit into half of it.
const LEAST: u64 = 1024;

/// The parts of a cache of `bytes`.
pub(super) fn parts(bytes: u64) -> Result<Vec<Part>, SpecError> {
    let part = |size, block, class: &str| Part { size, block, class: class.to_owned() };
    let Some(Row(_, id, block, sequential)) = TABLE.iter().rev().find(|row| row.0 <= bytes) else {
        if bytes < LEAST {
            let (bytes, least) = (Value::Size(bytes), Value::Size(LEAST));
            return Err(SpecError::new(format!(
                "a cache of {bytes} is too small for parts: expected at least {least}"
            )));
        }
        // Half of it in four blocks.
        let block = (1 << (bytes / 8).ilog2()).max(512);
        return Ok(vec![part(Some(bytes / 2), ID_BLOCK, "id"), part(None, block, "general")]);
    };
    let id = part(Some(*id), ID_BLOCK, "id");
    Ok(match sequential {
        None => vec![id, part(None, *block, "general")],
        Some((size, large)) => vec![id, part(None, *block, "temporal"), part(Some(*size), *large, "sequential")],
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::parted::PartSize;
    use super::*;
    use crate::classify::builtin;
    use crate::schemes::attribute::parts::layout;

    fn sizes(bytes: u64) -> Vec<PartSize> {
        layout(builtin::attribute(512 * K), &parts(bytes).unwrap(), bytes).unwrap().parts
    }

    /// The sizes that the table gives, with what is left for the temporal or general part.
    #[test]
    fn the_rest_is_what_the_table_says() {
        let rows = [
            (32, 16),
            (64, 32),
            (128, 64),
            (256, 128),
            (640, 512),
            (1216, 1024),
            (1280, 1024),
            (4352, 4096),
            (6272, 4096),
            (18560, 16384),
            (20608, 16384),
            (26624, 16384),
            (36864, 16384),
            (282_624, 262_144),
        ];
        for (total, rest) in rows {
            let parts = sizes(total * K);
            assert_eq!(parts[1].bytes(), rest * K, "at {total}K");
            assert_eq!(parts.iter().map(|part| part.bytes()).sum::<u64>(), total * K, "at {total}K");
        }
    }

    #[test]
    fn no_size_gives_more_than_there_is() {
        for bytes in (1..300).map(|step| step * 1024).chain((1..300).map(|step| step * M + step * 512)) {
            let parts = sizes(bytes);
            assert!(parts.iter().map(|part| part.bytes()).sum::<u64>() <= bytes, "at {bytes}");
        }
    }

    #[test]
    fn small_caches_have_four_general_blocks() {
        assert_eq!(sizes(16 * K)[1], PartSize { block: 2 * K, blocks: 4 });
        assert_eq!(sizes(4 * K)[1], PartSize { block: 512, blocks: 4 });
        assert!(parts(1023).is_err());
    }
}
