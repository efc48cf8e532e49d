//! The cost of the native format: bytes a request, and requests a second of CPU written and read, for the given traces.
//! A generator with its arguments is a trace, too.
//!
//! `cargo run --release -p hotset-trace --example native_speed -- TRACE... 'zipf requests=5000000'`

use std::{error::Error, path::Path, time::Duration};

use hotset_trace::{
    Batch, OpenOptions, TraceReader,
    formats::{self, BUILTIN},
    generate,
    native::{Header, Reader, Writer},
};

/// CPU time of this process, all threads.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn open(name: &str) -> Result<Box<dyn TraceReader>, Box<dyn Error>> {
    let mut words = name.split(' ');
    match generate::find(words.next().unwrap_or_default()) {
        Ok(kind) => Ok(generate::start(kind.name, &words.collect::<Vec<_>>())?),
        Err(_) => Ok(formats::open(Path::new(name), BUILTIN, &OpenOptions::default())?.reader),
    }
}

fn measure(name: &str) -> Result<(), Box<dyn Error>> {
    let path = Path::new(name);
    let mut trace = open(name)?;
    let mut batches = Vec::new();
    loop {
        let mut batch = Batch::new();
        trace.read(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        batches.push(batch);
    }
    let mut bytes = Vec::new();
    let start = cpu();
    let mut writer = Writer::new(&mut bytes, path, &Header::new(trace.meta()))?;
    for batch in &batches {
        writer.push(batch, trace.tables())?;
    }
    let stats = writer.finish(trace.tables())?;
    let written = cpu() - start;

    let start = cpu();
    let mut reader = Reader::new(bytes.as_slice(), path)?;
    let (mut batch, mut requests) = (Batch::new(), 0);
    loop {
        reader.read(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        requests += batch.len() as u64;
    }
    let read = cpu() - start;
    assert_eq!(requests, stats.requests);
    let rate = |time: Duration| stats.requests as f64 / time.as_secs_f64() / 1e6;
    println!(
        "{:40} {:>10} requests {:>7.3} bytes each  written {:>6.1}M/s  read {:>6.1}M/s",
        path.file_name().unwrap_or_default().to_string_lossy(),
        stats.requests,
        bytes.len() as f64 / stats.requests as f64,
        rate(written),
        rate(read)
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    std::env::args().skip(1).try_for_each(|name| measure(&name))
}
