//! The block cache of SlateDB, replaced through its trait `DbCache`: hits and time of its default (foyer), of its
//! alternative (moka) and of hotset's policies, on YCSB's mixes.
//!
//! `cargo run --release -- FILE.jsonl` writes a row for each load, size and cache. Each run begins with the same
//! database in memory, so a miss costs a copy instead of a request to an object store. Compaction is off, and there is
//! one task, so runs differ by the moments of flushes only.

mod caches;
mod loads;

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use rustix::time::{ClockId, clock_gettime};
use slatedb::config::{FlushOptions, FlushType, ScanOptions};
use slatedb::db_cache::SplitCache;
use slatedb::db_cache::foyer::FoyerCache;
use slatedb::object_store::memory::InMemory;
use slatedb::{Db, Settings};

use caches::{CACHES, Counted};
use loads::{LOADS, Operation, RECORDS, operations};

type Failure = Box<dyn std::error::Error>;

const OPERATIONS: u64 = 60_000;
const VALUE_BYTES: usize = 200;
/// Percent of the data.
const SHARES: [u64; 2] = [10, 25];

fn key(record: u64) -> String {
    format!("user{record:010}")
}

fn value(record: u64, version: u64) -> Vec<u8> {
    let mut value = format!("{record} {version} ").into_bytes();
    value.resize(VALUE_BYTES, b'x');
    value
}

fn settings() -> Settings {
    Settings {
        flush_interval: None,
        l0_sst_size_bytes: 4 << 20,
        l0_max_ssts: 1000,
        l0_max_ssts_per_key: 1000,
        compactor_options: None,
        garbage_collector_options: None,
        ..Settings::default()
    }
}

/// Returns a store with a database of all records.
async fn filled() -> Result<InMemory, Failure> {
    let store = Arc::new(InMemory::new());
    let db = Db::builder("db", store.clone()).with_settings(settings()).with_db_cache_disabled().build().await?;
    for record in 0..RECORDS {
        db.put(key(record), value(record, 0)).await?;
    }
    db.flush_with_options(FlushOptions { flush_type: FlushType::MemTable }).await?;
    db.close().await?;
    Ok(store.fork())
}

/// Runs a load. Returns the records and bytes that it has read, which are the same for each cache.
async fn run(db: &Db, work: &[Operation]) -> Result<[u64; 2], Failure> {
    let mut read = [0, 0];
    let mut note = |bytes: usize| read = [read[0] + 1, read[1] + bytes as u64];
    for (step, &operation) in (1..).zip(work) {
        match operation {
            Operation::Read(record) => note(db.get(key(record)).await?.map_or(0, |value| value.len())),
            Operation::Update(record) | Operation::Insert(record) => {
                db.put(key(record), value(record, step)).await?;
            }
            Operation::ReadModifyWrite(record) => {
                note(db.get(key(record)).await?.map_or(0, |value| value.len()));
                db.put(key(record), value(record, step)).await?;
            }
            Operation::Scan { from, records } => {
                // By default the engine keeps scans out of its cache.
                let options = ScanOptions::default().with_cache_blocks(true);
                let mut rows = db.scan_with_options(key(from).., &options).await?;
                for _ in 0..records {
                    let Some(row) = rows.next().await? else { break };
                    note(row.value.len());
                }
            }
        }
    }
    Ok(read)
}

/// Returns the processor time of the process in seconds.
fn seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let file = std::env::args().nth(1).ok_or("usage: hotset-engine-bench FILE.jsonl")?;
    let mut out = File::create(&file)?;
    let store = filled().await?;
    let data = RECORDS * (VALUE_BYTES as u64 + 14);
    for (load, _) in LOADS {
        let work = operations(load, OPERATIONS);
        let mut expected = None;
        for share in SHARES {
            for name in CACHES {
                let cache = Arc::new(Counted::new(name, data * share / 100));
                // Indexes and filters have their own cache, as by default.
                let caches = SplitCache::new().with_block_cache(Some(cache.clone()));
                let caches = caches.with_meta_cache(Some(Arc::new(FoyerCache::new()))).build();
                let builder = Db::builder("db", Arc::new(store.fork())).with_settings(settings());
                let db = builder.with_db_cache(Arc::new(caches), 0).build().await?;
                cache.take();
                let begin = seconds();
                let read = run(&db, &work).await?;
                let seconds = seconds() - begin;
                let [hits, misses] = cache.take();
                db.close().await?;
                let expected = *expected.get_or_insert(read);
                if read != expected {
                    return Err(format!("{load}, {name}: {read:?} were read, expected {expected:?}").into());
                }
                let row = format!(
                    r#"{{"load":"{load}","percent":{share},"cache":"{name}","hits":{hits},"misses":{misses},"seconds":{seconds:.3}}}"#
                );
                writeln!(out, "{row}")?;
                println!("{row}");
            }
        }
    }
    Ok(())
}
