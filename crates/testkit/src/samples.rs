//! A few short traces of different shapes, the same ones every time.

/// A few hundred references each: skewed, a loop, a loop in a skewed trace, a scan.
pub fn samples() -> Vec<Vec<u32>> {
    let mut state = 3u64;
    let mut draw = move |keys: u32| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let unit = (state >> 40) as f64 / (1u64 << 24) as f64;
        (f64::from(keys).powf(unit) as u32).min(keys - 1)
    };
    let skewed: Vec<u32> = (0..600).map(|_| draw(60)).collect();
    let looped: Vec<u32> = (0..600).map(|step| step % 37).collect();
    let mixed: Vec<u32> = (0..600).map(|step| if step % 3 == 0 { 60 + step / 3 % 25 } else { draw(40) }).collect();
    let scanned: Vec<u32> = (0..400).map(|step| if step % 2 == 0 { 100 + step } else { draw(20) }).collect();
    vec![skewed, looped, mixed, scanned]
}
