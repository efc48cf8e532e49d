//! Ages in buckets, and what blocks are worth by age.

pub(super) const AGES: usize = 104;

/// The first age of a bucket: four to an octave.
pub(super) fn first_age(bucket: usize) -> u64 {
    if bucket < 4 { bucket as u64 } else { (4 + bucket as u64 % 4) << (bucket / 4 - 1) }
}

pub(super) fn bucket(age: u32) -> usize {
    (0..AGES).rev().find(|&bucket| first_age(bucket) <= u64::from(age)).expect("bucket 0 begins at age 0")
}

/// From each bucket on, the most uses to be expected for the room and time they take, whatever the age to give up at:
/// the majorant by a stack, from the right.
pub(super) fn index_of(hazard: &[f32]) -> Vec<f32> {
    let mut points = vec![(0.0f64, 0.0f64)];
    let mut unused = 1.0;
    for (bucket, &chance) in hazard.iter().enumerate() {
        let after = unused * (1.0 - f64::from(chance));
        let ages = (first_age(bucket + 1) - first_age(bucket)) as f64;
        points.push((points[bucket].0 + ages * (unused + after) / 2.0, 1.0 - after));
        unused = after;
    }
    let slope = |from: usize, to: usize| {
        let room = points[to].0 - points[from].0;
        if room > 0.0 { (points[to].1 - points[from].1) / room } else { 0.0 }
    };
    let mut index = vec![0.0; AGES + 1];
    let mut hull = vec![AGES];
    for from in (0..AGES).rev() {
        while let [.., next, top] = hull[..]
            && slope(from, top) <= slope(top, next)
        {
            hull.pop();
        }
        index[from] = slope(from, hull[hull.len() - 1]) as f32;
        hull.push(from);
    }
    index
}
