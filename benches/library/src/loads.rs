//! The references: skewed draws, and keys of a recorded trace.

use std::collections::HashMap;
use std::path::Path;

use hotset::core::random::{Rng, mix};
use hotset::core::request::Op;
use hotset_trace::{Batch, OpenOptions, formats, open};

/// References by name, with the number of different keys.
pub struct Load {
    pub name: String,
    pub keys: Vec<u64>,
    pub distinct: usize,
}

/// Draws of `keys` keys, the i-th most popular with a probability in proportion to 1 / i^skew.
pub fn zipf(skew: f64, keys: usize, references: usize) -> Load {
    let weight = |rank: usize| (rank as f64 + 1.0).powf(-skew);
    let total: f64 = (0..keys).map(weight).sum();
    let sums: Vec<f64> = (0..keys)
        .scan(0.0, |sum, rank| {
            *sum += weight(rank) / total;
            Some(*sum)
        })
        .collect();
    let mut random = Rng::new(1);
    let mut draw = || {
        let unit = random.unit();
        mix(sums.partition_point(|&sum| sum < unit) as u64)
    };
    Load { name: format!("zipf {skew}"), keys: (0..references).map(|_| draw()).collect(), distinct: keys }
}

/// The blocks of 4096 bytes that the requests of a trace read or write, or its objects.
pub fn recorded(path: &Path, references: usize) -> Load {
    let mut reader = open(path, formats::BUILTIN, &OpenOptions::default()).expect("a trace").reader;
    let objects = matches!(reader.meta().addressing, hotset_trace::Addressing::Objects);
    let (mut numbers, mut keys, mut batch) = (HashMap::new(), Vec::new(), Batch::new());
    while keys.len() < references {
        reader.read(&mut batch).expect("a whole trace");
        if batch.is_empty() {
            break;
        }
        for request in batch.requests.iter().filter(|request| matches!(request.op(), Op::Read | Op::Write)) {
            let end = request.offset + u64::from(request.length);
            let blocks =
                if objects { request.offset..request.offset + 1 } else { request.offset / 4096..end.div_ceil(4096) };
            keys.extend(blocks.map(|block| {
                let next = numbers.len() as u64;
                mix(*numbers.entry((request.file, block)).or_insert(next))
            }));
        }
    }
    keys.truncate(references);
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Load { name, keys, distinct: numbers.len() }
}
