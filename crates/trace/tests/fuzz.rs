//! The fuzz targets of `fuzz/`, seeded: random bytes, sound samples that were damaged, and samples cut at every byte.

use std::path::Path;

use hotset_trace::{
    Batch, OpenOptions,
    formats::{BUILTIN, by_name, open_input},
    fuzzing::{detect_and_parse, parse},
    input::Input,
    native::{Header, Writer},
};

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}

const LIRS: &[u8] = b"1\n2 3 4\n*\n18446744073709551615\n\n7";
const ARC: &[u8] = b"1905744 8 1 7134\r\n0 1 0 0\n36028797018963967 1 0 9\n5 2147483648 0 1\n";
const SPC: &[u8] = b"0,20941264,8192,W,0.551706\n1,5,1099511627776,r,0.554041\n0,7,512,R,1,9\n";
const MSR: &[u8] = b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
    128166372003061629,hm,1,Read,383496192,32768,413\n128166372016382155,web,0,write,2822144,4096,1\n";
const CSV: &[u8] = b"time_s,pid,op,file,offset,bytes,filesize,kind\n0.001,1,R,\"a,\"\"b\",0,832,832,lib\n\
    0.002,2,S,1,,-1,,\n7,2,W,3,18446744073709551615,0,9,scene\n";
const IDS: &[u8] = b"1\n0xff\n18446744073709551615\n";
const BLKPARSE: &[u8] = b"  8,0    3        1     0.000000000   697  Q  WS 223490 + 8 [kjournald]\n\
    8,0 3 2 0.000001829 697 G W 223490 + 8 [kjournald]\n8,16 0 3 0.1 0 Q R 0 + 1 [a b]\n8,0 1 4 0.2 5 Q FN [x]\n\
    CPU0 (8,0):\n Reads Queued: 1, 4KiB\n";
const DISKSIM: &[u8] = b"938513000 4 264719034 16 0\n938.828 3 197570570 16 1\n";
/// Page 3 read twice, page 4 referenced 5 times, twice to write, page 1 read 64 times.
const PGT: &[u8] = &[6, 4, 2, 11, 2, 5, 0x80, 1];

fn sample(format: &str) -> Vec<u8> {
    match format {
        "lirs" => LIRS.to_vec(),
        "arc" => ARC.to_vec(),
        "spc" => SPC.to_vec(),
        "msr" => MSR.to_vec(),
        "csv" => CSV.to_vec(),
        "ids" => IDS.to_vec(),
        "blkparse" => BLKPARSE.to_vec(),
        "disksim" => DISKSIM.to_vec(),
        "oracle-general" => [[1; 24], [2; 24]].concat(),
        "vscsi" => vscsi(),
        "u32be" => vec![0, 0, 0, 1, 0, 0, 2, 0],
        "u64be" => vec![0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0],
        "hst" => hst(),
        "pgt" => PGT.to_vec(),
        other => panic!("{other} has no sample to be damaged"),
    }
}

fn vscsi() -> Vec<u8> {
    let mut record = [0; 32];
    record[5] = 2;
    record[12] = 0x2a;
    record[15] = 1;
    record[16] = 9;
    record[24] = 200;
    record.repeat(3)
}

/// The sample of `csv` as a native trace.
fn hst() -> Vec<u8> {
    let input = Input::from_reader(Path::new("sample"), CSV, None).unwrap();
    let csv = by_name("csv", BUILTIN).unwrap();
    let mut trace = open_input(input, Some(csv), BUILTIN, &OpenOptions::default()).unwrap();
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, Path::new("sample"), &Header::new(trace.meta())).unwrap();
    let mut batch = Batch::new();
    trace.reader.read(&mut batch).unwrap();
    writer.push(&batch, trace.reader.tables()).unwrap();
    writer.finish(trace.reader.tables()).unwrap();
    bytes
}

/// Changes, drops, doubles or inserts a few bytes.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    const TELLING: &[u8] = b"0123456789-+.,;*\"\n\r\t \0x\xff\x1fRWQ";
    for _ in 0..1 + random.below(6) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            1 if !bytes.is_empty() => bytes[at] = TELLING[random.below(TELLING.len())],
            2 if !bytes.is_empty() => drop(bytes.remove(at)),
            3 => bytes.insert(at, TELLING[random.below(TELLING.len())]),
            _ => {
                let run = bytes[at..bytes.len().min(at + random.below(30))].to_vec();
                bytes.splice(at..at, run);
            }
        }
    }
}

#[test]
fn random_bytes_never_break_a_format() {
    let mut random = Random(1);
    for round in 0..400 {
        let length = random.below(300);
        let mut bytes = random.bytes(length);
        if round % 2 == 0 {
            // Only the bytes that numbers and fields are made of.
            bytes.iter_mut().for_each(|byte| *byte = b"0123456789 ,.\n-RW*"[*byte as usize % 18]);
        }
        detect_and_parse(&bytes);
        BUILTIN.iter().for_each(|format| parse(format, &bytes));
    }
}

#[test]
fn damaged_samples_never_break_a_format() {
    let mut random = Random(2);
    for format in BUILTIN {
        let sound = sample(format.name);
        parse(format, &sound);
        for _ in 0..1500 {
            let mut bytes = sound.clone();
            damage(&mut random, &mut bytes);
            parse(format, &bytes);
            detect_and_parse(&bytes);
        }
    }
}

#[test]
fn samples_cut_at_every_byte_never_break_a_format() {
    for format in BUILTIN {
        let sound = sample(format.name);
        for length in 0..sound.len() {
            parse(format, &sound[..length]);
        }
    }
}

#[test]
fn packed_samples_that_are_damaged_or_cut_never_break_a_format() {
    let mut random = Random(3);
    for format in BUILTIN {
        let copies = if format.name == "hst" { 1 } else { 50 };
        let sound = zstd::encode_all(&sample(format.name).repeat(copies)[..], 1).unwrap();
        for length in 0..sound.len() {
            parse(format, &sound[..length]);
        }
        for _ in 0..200 {
            let mut bytes = sound.clone();
            damage(&mut random, &mut bytes);
            parse(format, &bytes);
        }
    }
}

/// A line that never ends must not fill the memory.
#[test]
fn endless_lines_end() {
    let line = vec![b'1'; 40 << 20];
    for format in BUILTIN.iter().filter(|format| ["lirs", "ids", "csv"].contains(&format.name)) {
        parse(format, &line);
    }
}
