//! YCSB's mixes, and a mix of look-ups and scans.

/// Records before a run.
pub const RECORDS: u64 = 100_000;

/// One operation.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    Read(u64),
    Update(u64),
    Insert(u64),
    ReadModifyWrite(u64),
    Scan { from: u64, records: u64 },
}

/// Percent of reads, updates, insertions, scans and read-modify-writes.
type Mix = [u64; 5];

/// The loads by name.
pub const LOADS: [(&str, Mix); 7] = [
    ("A", [50, 50, 0, 0, 0]),
    ("B", [95, 5, 0, 0, 0]),
    ("C", [100, 0, 0, 0, 0]),
    ("D", [95, 0, 5, 0, 0]),
    ("E", [0, 0, 5, 95, 0]),
    ("F", [50, 0, 0, 0, 50]),
    ("C and scans", [100, 0, 0, 0, 0]),
];

/// Returns the operations of a load, which are the same in every run. Records are chosen by zipf(0.99); in D the
/// newest ones are popular. In the last load each 400th operation reads a twentieth of the records.
pub fn operations(load: &str, number: u64) -> Vec<Operation> {
    let (_, mix) = LOADS.iter().find(|(name, _)| *name == load).expect("a load of the list");
    let mut random = Random(7);
    let mut records = RECORDS;
    let weights: Vec<f64> = (1..=RECORDS)
        .scan(0.0, |sum, rank| {
            *sum += 1.0 / (rank as f64).powf(0.99);
            Some(*sum)
        })
        .collect();
    let all = *weights.last().expect("there are records");
    let one = |step| {
        if load == "C and scans" && step % 400 == 399 {
            return Operation::Scan { from: random.below(RECORDS), records: RECORDS / 20 };
        }
        let rank = weights.partition_point(|&sum| sum < random.unit() * all) as u64;
        let popular = if load == "D" { records - 1 - rank.min(records - 1) } else { scattered(rank) };
        let mut kind = random.below(100);
        let at = mix.iter().position(|&share| {
            let is_this = kind < share;
            kind = kind.saturating_sub(share);
            is_this
        });
        match at.expect("the shares are 100 percent") {
            0 => Operation::Read(popular),
            1 => Operation::Update(popular),
            2 => {
                records += 1;
                Operation::Insert(records - 1)
            }
            3 => Operation::Scan { from: popular, records: 1 + random.below(100) },
            _ => Operation::ReadModifyWrite(popular),
        }
    };
    (0..number).map(one).collect()
}

/// Popular records are not neighbours. 7919 has no divisor in common with the number of records.
fn scattered(rank: u64) -> u64 {
    rank.min(RECORDS - 1) * 7919 % RECORDS
}

/// Random numbers of SplitMix64.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
