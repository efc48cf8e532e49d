//! How fast each format is read: `cargo run --release -p hotset-trace --example read_speed [ROWS] [FORMAT...]`.
//!
//! Writes a trace of ROWS rows (5,000,000) for each format into the folder for temporary files, reads it a few times
//! and prints rows for each second of CPU time in the fastest reading, on one thread, from uncompressed files that the
//! system has in memory.

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use hotset_trace::{Batch, OpenOptions, formats::BUILTIN, open};

const READINGS: usize = 5;

/// The fields of a row: numbers of the size that real traces have.
struct Row {
    number: u64,
    block: u64,
    blocks: u64,
    write: bool,
}

impl Row {
    /// Blocks are hot towards 0, as the product of two even draws is.
    fn new(number: u64) -> Row {
        let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut draw = || {
            state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            state ^= state >> 27;
            (state >> 32) % 1_000_000
        };
        Row { number, block: draw() * draw() / 1_000_000, blocks: 1 + draw() % 16, write: draw() < 300_000 }
    }

    fn letter(&self) -> char {
        if self.write { 'W' } else { 'R' }
    }
}

/// A trace's name, the line before its rows, and what appends a row.
struct Case {
    name: &'static str,
    format: &'static str,
    header: &'static str,
    append: fn(&Row, &mut Vec<u8>),
}

/// Appends one line.
macro_rules! line {
    ($row:ident, $($format:tt)*) => {
        |$row, out| {
            let mut text = String::new();
            writeln!(text, $($format)*).expect("strings grow");
            out.extend_from_slice(text.as_bytes());
        }
    };
}

const CASES: &[Case] = &[
    Case { name: "lirs", format: "lirs", header: "", append: line!(row, "{}", row.block) },
    Case { name: "ids", format: "ids", header: "", append: line!(row, "{}", row.block) },
    Case {
        name: "arc",
        format: "arc",
        header: "",
        append: line!(row, "{} {} 0 {}", row.block, row.blocks, row.number),
    },
    Case {
        name: "spc",
        format: "spc",
        header: "",
        append: line!(
            row,
            "0,{},{},{},{}.{:06}",
            row.block * 8,
            row.blocks * 4096,
            row.letter(),
            row.number / 1000,
            row.number % 1000
        ),
    },
    Case {
        name: "msr",
        format: "msr",
        header: "",
        append: line!(
            row,
            "{},hm,1,{},{},{},413",
            128_166_372_003_061_629 + row.number * 10,
            if row.write { "Write" } else { "Read" },
            row.block * 4096,
            row.blocks * 4096
        ),
    },
    Case {
        name: "csv, 6 columns",
        format: "csv",
        header: "time_s,pid,op,file,offset,bytes\n",
        append: line!(
            row,
            "{}.{:03},42,{},17,{},4096",
            row.number / 1000,
            row.number % 1000,
            row.letter(),
            row.block * 4096
        ),
    },
    Case {
        name: "csv, 3 columns",
        format: "csv",
        header: "time,obj_id,size\n",
        append: line!(row, "{},{},{}", row.number / 1000, row.block, row.blocks * 4096),
    },
    Case {
        name: "csv, full set",
        format: "csv",
        header: "time_s,pid,op,file,offset,bytes,filesize,kind\n",
        append: line!(
            row,
            "{}.{:06},{},{},{},{},4096,4096000000,{}",
            row.number / 1000,
            row.number % 1000,
            2000 + row.number / 64 % 4,
            row.letter(),
            row.block % 1000,
            row.block * 4096,
            if row.block % 2 == 0 { "texture" } else { "scene" }
        ),
    },
    Case {
        name: "blkparse",
        format: "blkparse",
        header: "",
        append: line!(
            row,
            "  8,0    3 {:8} {:5}.{:09}   697  Q  {}S {} + {} [kjournald]",
            row.number,
            row.number / 1000,
            row.number % 1000,
            row.letter(),
            row.block * 8,
            row.blocks * 8
        ),
    },
    Case {
        name: "disksim",
        format: "disksim",
        header: "",
        append: line!(row, "{} 3 {} {} {}", row.number * 1000, row.block * 8, row.blocks * 8, u8::from(!row.write)),
    },
    Case {
        name: "meta-kv",
        format: "meta-kv",
        header: "op_time,key,key_size,op,op_count,size,cache_hits,ttl\n",
        append: line!(
            row,
            "{},{},40,{},1,{},0,{}",
            row.number / 1000,
            row.block,
            if row.write { "SET" } else { "GET" },
            row.blocks * 82,
            if row.write { 3600 } else { 0 }
        ),
    },
    Case {
        name: "meta-cdn",
        format: "meta-cdn",
        header: "timestamp,cacheKey,OpType,objectSize,responseSize,responseHeaderSize,rangeStart,rangeEnd,TTL,\
                 SamplingRate,cache_hit,item_value,RequestHandler,cdn_content_type_id,vip_type\n",
        append: line!(
            row,
            "{},{:x},1,{},{},3,-1,-1,3600,1,0,0,img,-,v",
            row.number / 1000,
            row.block,
            row.blocks * 4096,
            row.blocks * 4096
        ),
    },
    Case {
        name: "twitter",
        format: "twitter",
        header: "",
        append: line!(
            row,
            "{},q:q:1:{},17,{},{},{},{}",
            row.number / 1000,
            row.block,
            row.blocks * 82,
            row.block % 8,
            if row.write { "set" } else { "get" },
            if row.write { 3600 } else { 0 }
        ),
    },
    Case {
        name: "systor17",
        format: "systor17",
        header: "Timestamp,Response,IOType,LUN,Offset,Size\n",
        append: line!(
            row,
            "145604{:04}.{:09},0.000120,{},{},{},{}",
            row.number / 1000 % 10_000,
            row.number % 1000,
            row.letter(),
            row.block % 6,
            row.block * 4096,
            row.blocks * 4096
        ),
    },
    Case {
        name: "tencent-cbs",
        format: "tencent-cbs",
        header: "",
        append: line!(
            row,
            "{},{},{},{},{}",
            1_538_323_200 + row.number / 1000,
            row.block * 8,
            row.blocks * 8,
            u8::from(row.write),
            row.block % 1000
        ),
    },
    Case {
        name: "tencent-photo",
        format: "tencent-photo",
        header: "",
        append: line!(
            row,
            "2016020100{:04} {:016x} 5 b {} 1 PHONE 0",
            row.number / 1000 % 60 + row.number / 60_000 % 60 * 100,
            row.block,
            row.blocks * 4096
        ),
    },
    Case {
        name: "alibaba",
        format: "alibaba",
        header: "",
        append: line!(
            row,
            "{},{},{},{},{}",
            row.block % 1000,
            row.letter(),
            row.block * 4096,
            row.blocks * 4096,
            1_577_808_144_360_767 + row.number * 100
        ),
    },
    Case {
        name: "cloud-physics",
        format: "cloud-physics",
        header: "",
        append: line!(
            row,
            "{},{},{},{},2",
            5_633_898_611_441 + row.number * 100,
            row.block * 8,
            row.blocks * 8,
            if row.write { 42 } else { 40 }
        ),
    },
    Case {
        name: "webcachesim",
        format: "webcachesim",
        header: "",
        append: line!(row, "{} {} {} 7", row.number / 1000, row.block, row.blocks * 4096),
    },
    Case {
        name: "fiu",
        format: "fiu",
        header: "",
        append: line!(
            row,
            "{} {} httpd {} {} {} 8 1 531e779e3e4c8f5a",
            89_967_404_983_320 + row.number * 1000,
            row.block % 5000,
            row.block * 8,
            row.blocks * 8,
            row.letter()
        ),
    },
    Case {
        name: "ibm-cos",
        format: "ibm-cos",
        header: "",
        append: line!(
            row,
            "{} REST.{}.OBJECT {:016x} {}",
            row.number,
            if row.write { "PUT" } else { "GET" },
            row.block,
            row.blocks * 4096
        ),
    },
    Case {
        name: "wikimedia",
        format: "wikimedia",
        header: "relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n",
        append: line!(row, "{}\t{}\tjpeg\t{}\t1.2E-4", row.number / 1000, row.block, row.blocks * 4096),
    },
    Case {
        name: "mooncake",
        format: "mooncake",
        header: "",
        append: line!(
            row,
            "{{\"timestamp\": {}, \"input_length\": 512, \"output_length\": 52, \"hash_ids\": [{}]}}",
            row.number,
            row.block
        ),
    },
    Case {
        name: "jsonl",
        format: "jsonl",
        header: "",
        append: line!(
            row,
            "{{\"time\": {}, \"op\": \"{}\", \"key\": \"user:{}\", \"size\": {}}}",
            row.number / 1000,
            if row.write { "set" } else { "get" },
            row.block,
            row.blocks * 82
        ),
    },
    Case { name: "lcs", format: "lcs", header: "", append: lcs },
    Case { name: "oracle-general", format: "oracle-general", header: "", append: oracle_general },
    Case { name: "vscsi", format: "vscsi", header: "", append: vscsi },
    Case {
        name: "u32be",
        format: "u32be",
        header: "",
        append: |row, out| out.extend((row.block as u32).to_be_bytes()),
    },
    Case { name: "u64be", format: "u64be", header: "", append: |row, out| out.extend(row.block.to_be_bytes()) },
];

fn oracle_general(row: &Row, out: &mut Vec<u8>) {
    out.extend(((row.number / 1000) as u32).to_le_bytes());
    out.extend(row.block.to_le_bytes());
    out.extend(((row.blocks * 4096) as u32).to_le_bytes());
    out.extend((-1i64).to_le_bytes());
}

/// Version 3. The first row has the header before it, without a count of rows.
fn lcs(row: &Row, out: &mut Vec<u8>) {
    const MARK: u64 = 0x1234_5678_9abc_def0;
    if row.number == 0 {
        let mut header = [0; 8192];
        header[..8].copy_from_slice(&MARK.to_le_bytes());
        header[8] = 3;
        header[8184..].copy_from_slice(&MARK.to_le_bytes());
        out.extend(header);
    }
    out.extend(((row.number / 1000) as u32).to_le_bytes());
    out.extend(row.block.to_le_bytes());
    out.extend((row.blocks * 4096).to_le_bytes());
    out.extend((if row.write { 3u32 } else { 1 }).to_le_bytes());
    out.extend(0u32.to_le_bytes());
    out.extend(i64::MAX.to_le_bytes());
}

fn vscsi(row: &Row, out: &mut Vec<u8>) {
    out.extend((row.number as u32).to_le_bytes());
    out.extend(((row.blocks * 4096) as u32).to_le_bytes());
    out.extend(1u32.to_le_bytes());
    out.extend((if row.write { 0x2au16 } else { 0x28 }).to_le_bytes());
    out.extend(0x0100u16.to_le_bytes());
    out.extend((row.block * 8).to_le_bytes());
    out.extend((row.number * 100).to_le_bytes());
}

/// CPU time of this thread so far, as the kernel counts it; wall time where the kernel does not tell.
fn cpu_time(start: Instant) -> Duration {
    let told = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.as_deref().and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// CPU seconds and requests of reading a trace once.
fn read(path: &Path, format: &str) -> Result<(f64, usize), hotset_trace::TraceError> {
    let start = Instant::now();
    let before = cpu_time(start);
    let options = OpenOptions { format: Some(format.to_owned()), ..OpenOptions::default() };
    let mut trace = open(path, BUILTIN, &options)?;
    let mut batch = Batch::new();
    let mut requests = 0;
    loop {
        trace.reader.read(&mut batch)?;
        if batch.is_empty() {
            return Ok(((cpu_time(start) - before).as_secs_f64(), requests));
        }
        requests += batch.len();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let rows =
        arguments.next_if(|argument| argument.parse::<u64>().is_ok()).map_or(Ok(5_000_000), |rows| rows.parse())?;
    let wanted: Vec<String> = arguments.collect();
    println!("{:<16}{:>14}{:>14}{:>12}", "format", "M rows/s CPU", "MB/s CPU", "ns a row");
    for case in CASES.iter().filter(|case| wanted.is_empty() || wanted.iter().any(|name| name == case.format)) {
        let mut bytes = case.header.as_bytes().to_vec();
        (0..rows).for_each(|number| (case.append)(&Row::new(number), &mut bytes));
        let path = std::env::temp_dir().join(format!("hotset-read-speed-{}", std::process::id()));
        fs::write(&path, &bytes)?;
        let readings = (0..READINGS).map(|_| read(&path, case.format)).collect::<Result<Vec<_>, _>>();
        fs::remove_file(&path)?;
        let readings = readings?;
        assert!(readings.iter().all(|(_, requests)| *requests as u64 == rows), "{} lost rows", case.name);
        let seconds = readings.iter().map(|(seconds, _)| *seconds).fold(f64::INFINITY, f64::min);
        println!(
            "{:<16}{:>14.1}{:>14.0}{:>12.1}",
            case.name,
            rows as f64 / seconds / 1e6,
            bytes.len() as f64 / seconds / 1e6,
            seconds / rows as f64 * 1e9
        );
    }
    Ok(())
}
