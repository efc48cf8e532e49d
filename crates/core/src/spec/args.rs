//! Parameters that a policy declares, and the arguments bound to them.

use super::{SpecError, Value};

/// What a parameter accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// A share of the capacity: `25%`, a number of blocks, or a size in bytes.
    Share,
    /// A real number from `min` to `max`.
    Real {
        /// Least value.
        min: f64,
        /// Greatest value.
        max: f64,
    },
    /// A whole number from `min` to `max`.
    Count {
        /// Least value.
        min: u64,
        /// Greatest value.
        max: u64,
    },
    /// `on` or `off`.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// One parameter of a policy.
#[derive(Debug)]
pub struct Param {
    /// The key in `key=value`.
    pub key: &'static str,
    /// What it accepts.
    pub kind: ParamKind,
    /// The default, as a user would write it.
    pub default: &'static str,
    /// One line: meaning, unit, source.
    pub doc: &'static str,
}

impl Param {
    /// Checks `value` against the kind.
    pub fn check(&self, value: &Value) -> Result<(), SpecError> {
        let expected = match (self.kind, value) {
            (ParamKind::Share, Value::Percent(share)) if *share <= 1.0 => return Ok(()),
            (ParamKind::Share, Value::Size(_)) => return Ok(()),
            (ParamKind::Share, Value::Number(blocks)) if blocks.fract() == 0.0 => return Ok(()),
            (ParamKind::Share, _) => {
                "a share of the capacity such as 25% (at most 100%), 64M or a whole number of blocks".to_owned()
            }
            (ParamKind::Real { min, max }, Value::Number(number)) if (min..=max).contains(number) => return Ok(()),
            (ParamKind::Real { min, max }, _) => format!("a number from {min} to {max}"),
            (ParamKind::Count { min, max }, Value::Number(number))
                if number.fract() == 0.0 && (min as f64..=max as f64).contains(number) =>
            {
                return Ok(());
            }
            (ParamKind::Count { min, max }, _) => format!("a whole number from {min} to {max}"),
            (ParamKind::Switch, Value::Word(word)) if word == "on" || word == "off" => return Ok(()),
            (ParamKind::Switch, _) => "on or off".to_owned(),
            (ParamKind::Word(words), Value::Word(word)) if words.contains(&word.as_str()) => return Ok(()),
            (ParamKind::Word(words), _) => format!("one of {}", words.join(", ")),
        };
        Err(SpecError::new(format!("{}={value} is not allowed: expected {expected}", self.key)))
    }
}

/// Arguments bound to a policy's parameters, defaults filled in.
#[derive(Clone, Debug)]
pub struct Args {
    params: &'static [Param],
    values: Vec<Value>,
    block_bytes: Option<u64>,
}

impl Args {
    /// The defaults of `params`. `block_bytes` turns sizes into blocks; `None` when blocks have no size in bytes.
    pub fn defaults(params: &'static [Param], block_bytes: Option<u64>) -> Args {
        let read = |param: &Param| Value::parse(param.default).expect("the registry test parses every default");
        Args { params, values: params.iter().map(read).collect(), block_bytes }
    }

    /// Sets one argument. An unknown key is an error that lists the known ones.
    pub fn set(&mut self, key: &str, value: Value) -> Result<(), SpecError> {
        let Some(index) = self.params.iter().position(|param| param.key == key) else {
            let keys: Vec<&str> = self.params.iter().map(|param| param.key).collect();
            let known =
                if keys.is_empty() { "it has none".to_owned() } else { format!("known are {}", keys.join(", ")) };
            return Err(SpecError::new(format!("unknown parameter {key:?}: {known}")));
        };
        self.params[index].check(&value)?;
        self.values[index] = value;
        Ok(())
    }

    /// A [`ParamKind::Share`] as blocks out of `capacity`, rounded down, not above `capacity` unless given in blocks or bytes.
    pub fn share(&self, key: &str, capacity: u32) -> Result<u32, SpecError> {
        let blocks = match *self.value(key) {
            Value::Percent(share) => (share * f64::from(capacity) + 1e-9).floor(),
            Value::Number(blocks) => blocks,
            Value::Size(bytes) => match self.block_bytes {
                Some(block) => (bytes / block) as f64,
                None => {
                    return Err(SpecError::new(format!(
                        "{key} is given in bytes, but blocks of this cache have no size in bytes: give a percentage or a number of blocks"
                    )));
                }
            },
            _ => unreachable!("Param::check admits no other value"),
        };
        Ok(blocks.min(f64::from(u32::MAX)) as u32)
    }

    /// A [`ParamKind::Real`].
    pub fn real(&self, key: &str) -> f64 {
        let Value::Number(number) = *self.value(key) else { unreachable!("Param::check admits no other value") };
        number
    }

    /// A [`ParamKind::Count`].
    pub fn count(&self, key: &str) -> u64 {
        self.real(key) as u64
    }

    /// A [`ParamKind::Switch`].
    pub fn switch(&self, key: &str) -> bool {
        self.word(key) == "on"
    }

    /// A [`ParamKind::Word`].
    pub fn word(&self, key: &str) -> &str {
        let Value::Word(word) = self.value(key) else { unreachable!("Param::check admits no other value") };
        word
    }

    fn value(&self, key: &str) -> &Value {
        let index = self.params.iter().position(|param| param.key == key);
        &self.values[index.unwrap_or_else(|| panic!("a policy asked for {key:?}, which it does not declare"))]
    }
}
