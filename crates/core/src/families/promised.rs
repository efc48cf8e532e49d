//! What applications were promised: hit rates, or times that become hit rates.

use std::collections::HashMap;

use crate::allocate::targets::rate_for_time;
use crate::policy::{App, Args, Argument, Param, ParamKind};
use crate::spec::{SpecError, Value};

/// The time of a hit,
pub const HIT_TIME: Param = Param {
    key: "hit_time",
    kind: ParamKind::Time,
    default: "200us",
    doc: "time of a hit, by which a promised time becomes a hit rate (paper of qos: 0.2 ms)",
};
/// and that of a miss.
pub const MISS_TIME: Param =
    Param { key: "miss_time", kind: ParamKind::Time, default: "10ms", doc: "time of a miss (paper of qos: 10 ms)" };
/// The promises.
pub const APP: Param = Param {
    key: "APP",
    kind: ParamKind::Goals,
    default: "",
    doc: "what applications were promised, by their names: a hit rate (lu=70%) or a mean time (tpch=5ms)",
};

/// The promised hit rates in percent, by application. `args` are those of `scheme`, which has the parameters above.
pub fn rates(scheme: &str, args: &Args, apps: &[App]) -> Result<HashMap<u32, f64>, SpecError> {
    let (hit, miss) = (args.time("hit_time") as f64, args.time("miss_time") as f64);
    if hit >= miss {
        let [hit, miss] = ["hit_time", "miss_time"].map(|key| Value::Time(args.time(key)));
        return Err(SpecError::new(format!(
            "a hit takes {hit} and a miss {miss}: expected a miss_time above the hit_time"
        )));
    }
    let rate = |goal: &Argument| match goal {
        Argument::Value(Value::Percent(rate)) => *rate,
        Argument::Value(Value::Time(time)) => rate_for_time(*time as f64, hit, miss),
        _ => unreachable!("the parameter admits no other goal"),
    };
    let goals = args.apps("APP").iter();
    goals.map(|(name, goal)| Ok((app_named(scheme, name, apps)?, rate(goal)))).collect()
}

/// The number of the application that a spec of `scheme` calls `name`.
pub fn app_named(scheme: &str, name: &str, apps: &[App]) -> Result<u32, SpecError> {
    if let Some(number) = apps.iter().position(|app| app.is_called(name)) {
        return Ok(number as u32);
    }
    let mut known: Vec<String> = apps.iter().map(|app| App::spelt(&app.name)).filter(|name| !name.is_empty()).collect();
    known.sort_unstable();
    let known = if known.is_empty() { "it names none".to_owned() } else { format!("known are {}", known.join(", ")) };
    Err(SpecError::new(format!(
        "{scheme} names an application {name:?}, which the trace does not have: {known} (`hotset policies {scheme}` lists the parameters)"
    )))
}
