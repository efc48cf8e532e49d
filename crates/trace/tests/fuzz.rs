//! The fuzz targets of `fuzz/`, seeded: random bytes, sound samples that were damaged, and samples cut at every byte.

use hotset_testkit::fuzz::{detect_and_parse, mix, parse};
use hotset_trace::formats::BUILTIN;

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
        let sound = format.sample.to_vec();
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
        for length in 0..format.sample.len() {
            parse(format, &format.sample[..length]);
        }
    }
}

#[test]
fn packed_samples_that_are_damaged_or_cut_never_break_a_format() {
    let mut random = Random(3);
    for format in BUILTIN {
        let copies = if format.name == "hst" { 1 } else { 50 };
        let sound = zstd::encode_all(&format.sample.repeat(copies)[..], 1).unwrap();
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

/// Two or three parts, each in a format of some number, with a sample that is mostly of that format.
#[test]
fn mixes_are_those_of_lists() {
    let mut random = Random(4);
    for _ in 0..4000 {
        let parts = 1 + random.below(3);
        let mut bytes = vec![(parts - 1) as u8 * 2 + random.below(2) as u8];
        let mut traces = Vec::new();
        for _ in 0..parts {
            let number = random.below(8);
            let named = ["csv", "ids", "msr", "spc", "hst", "disksim", "arc", "oracle-general"][number];
            let format = BUILTIN.iter().find(|format| format.name == named).expect("a built-in format");
            let mut trace = format.sample.to_vec();
            if random.below(4) == 0 {
                damage(&mut random, &mut trace);
            }
            bytes.extend([number, random.below(4), random.below(6), random.below(12).min(6)].map(|byte| byte as u8));
            bytes.extend((trace.len() as u16).to_le_bytes());
            traces.extend(trace);
        }
        bytes.extend(traces);
        mix(&bytes);
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
