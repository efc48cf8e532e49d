//! A store of objects on this machine, with a chosen latency, for the benches: the files of a folder are objects of the
//! bucket `bucket`.
//!
//! `s3 FOLDER LATENCY_MS CONNECTION_MB_PER_S ALL_MB_PER_S [SLOW_EVERY SLOW_MS]` prints its address. For each line that
//! it reads, it prints a line of JSON: the requests and the bytes sent since the last one. A rate of 0 sets no limit.
//! One in `SLOW_EVERY` requests takes `SLOW_MS` longer. It ends with its input.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use hotset_testkit::s3::{Fault, Link, S3};

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Option<Vec<u64>> = arguments.iter().skip(1).map(|word| word.parse().ok()).collect();
    let (Some(folder), Some([latency, connection, all, slow @ ..])) = (arguments.first(), numbers.as_deref()) else {
        eprintln!("usage: s3 FOLDER LATENCY_MS CONNECTION_MB_PER_S ALL_MB_PER_S [SLOW_EVERY SLOW_MS]");
        return Ok(ExitCode::from(2));
    };
    let s3 = S3::start();
    put_all(&s3, Path::new(folder), "")?;
    let (connection, all) = (connection * 1_000_000, all * 1_000_000);
    s3.set_link(Link { latency: Duration::from_millis(*latency), connection, all });
    if let [every, more] = *slow {
        let mut asked = 0;
        s3.fail(move |_| {
            asked += 1;
            (asked % every.max(1) == 0).then_some(Fault::Late(Duration::from_millis(more)))
        });
    }
    println!("{}", s3.url());
    for line in io::stdin().lock().lines() {
        line?;
        let asked = s3.take_asked();
        let heads = asked.iter().filter(|asked| asked.method == "HEAD").count();
        let lists = asked.iter().filter(|asked| asked.lists).count();
        let changes = asked.iter().filter(|asked| !["GET", "HEAD"].contains(&asked.method.as_str())).count();
        let gets = asked.len() - heads - lists - changes;
        let taken: usize = asked.iter().map(|asked| asked.length).sum();
        let (bytes, most) = (s3.take_sent(), s3.take_most_under_way());
        println!(
            r#"{{"gets":{gets},"heads":{heads},"lists":{lists},"changes":{changes},"bytes":{bytes},"taken":{taken},"most":{most}}}"#
        );
        io::stdout().flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Each file below the folder becomes an object.
fn put_all(s3: &S3, folder: &Path, prefix: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let key = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            put_all(s3, &entry.path(), &format!("{key}/"))?;
        } else {
            s3.put(&key, fs::read(entry.path())?);
        }
    }
    Ok(())
}
