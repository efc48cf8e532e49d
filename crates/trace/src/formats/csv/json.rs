//! `jsonl`: a JSON object on a line for each request, whose keys are the columns of `csv`; and `mooncake`, traces of
//! key-value caches of language models, where a request reads the blocks `hash_ids`.

use hotset_core::request::{FLAG_CONTINUED, Request};
use hotset_core::setting::SettingName;
use serde_json::{Map, Value};

use super::{
    Csv, Files,
    columns::{Columns, Separator},
    first_line,
    quotes::UNIT_SEPARATOR,
    roles::{Role, is_ignored, is_vital, role, squeezed},
};
use crate::{
    Addressing, Batch, Meta, Tables, TraceError,
    error::Place,
    formats::{Confidence, Format, Head, OpenOptions, Opened},
    input::Input,
    runner::{
        Malformed,
        fields::Fields,
        ids::of_id,
        lines::{LineFormat, Lines, TextLine},
        number::{scaled, scaled_in_any_notation, unexpected},
        quote,
    },
};

pub(in super::super) const JSONL_FORMAT: Format = Format {
    name: "jsonl",
    summary: "JSON objects, one a line, with keys such as time, op, key, size (the columns of csv)",
    example: r#"{"time": 1.5, "op": "get", "key": "user:1", "size": 4096}"#,
    sample: b"{\"time\": 1.5, \"op\": \"get\", \"key\": \"user:1\", \"size\": 4096}\n\
        {\"key\": 7, \"op\": \"set\", \"time\": 2e0, \"size\": null, \"tags\": [1]}\n",
    detect: |head| if is_json(head) && !is_mooncake(head) { Confidence::Sure } else { Confidence::No },
    open,
};

pub(in super::super) const MOONCAKE_FORMAT: Format = Format {
    name: "mooncake",
    summary: "JSON lines of a language model's key-value cache: each request reads the blocks hash_ids (Mooncake)",
    example: r#"{"timestamp": 27482, "input_length": 1500, "output_length": 52, "hash_ids": [46, 47, 48]}"#,
    sample: b"{\"timestamp\": 1000, \"input_length\": 1500, \"output_length\": 52, \"hash_ids\": [46, 47, 48]}\n\
        {\"timestamp\": 1008, \"hash_ids\": [46, 49]}\n",
    detect: |head| if is_mooncake(head) { Confidence::Sure } else { Confidence::No },
    open: |input, options| Ok(Box::new(Lines::new(input, Mooncake, 1, options.skip_bad))),
};

fn object_of(line: &[u8]) -> Result<Map<String, Value>, Malformed> {
    serde_json::from_slice(line).map_err(|error| match error.is_data() {
        true => unexpected(line, "a JSON object"),
        false => format!("found {}; expected a JSON object ({error})", quote(line)).into(),
    })
}

fn is_json(head: &Head) -> bool {
    head.all_lines(|line| line.starts_with(b"{") && object_of(line).is_ok())
}

fn is_mooncake(head: &Head) -> bool {
    head.all_lines(|line| line.starts_with(b"{") && object_of(line).is_ok_and(|object| object.contains_key("hash_ids")))
}

/// Opens a trace of JSON objects: the keys of the first one name the columns.
pub(super) fn open(mut input: Input, options: &OpenOptions) -> Opened {
    let first = first_line(&mut input)?;
    let path = input.path().to_owned();
    let refused = |message: String| TraceError::new(&path, Place::Line(1), message);
    if options.separator.is_some() || options.header.is_some() {
        return Err(refused(format!(
            "JSON objects have no separator and no header; leave out {} and {}",
            SettingName("separator"),
            SettingName("header")
        )));
    }
    let object = object_of(&first).map_err(|message| refused(message.into()))?;
    let names: Vec<String> = object.keys().cloned().collect();
    let separator = String::from(char::from(UNIT_SEPARATOR));
    let ignored: Vec<String> =
        options.ignore_columns.iter().flat_map(|names| names.split(',')).map(|name| squeezed(name.trim())).collect();
    let between = Separator::Byte(UNIT_SEPARATOR);
    let columns = match &options.columns {
        Some(columns) => of_user(columns, &names, &ignored),
        None => Columns::from_header(names.join(&separator).as_bytes(), between, &ignored),
    };
    let mut csv = Csv::new(columns.map_err(refused)?, Files::default());
    csv.meta.format = JSONL_FORMAT.name;
    Ok(Box::new(Lines::new(input, JsonLines { csv, names, ignored, plain: Vec::new() }, 1, options.skip_bad)))
}

/// The columns that a user names, one for each key of the first object.
fn of_user(columns: &str, keys: &[String], ignored: &[String]) -> Result<Columns, String> {
    let columns = Columns::from_user(columns, Separator::Byte(UNIT_SEPARATOR), ignored)?;
    match columns.roles.len() == keys.len() {
        true => Ok(columns),
        false => Err(format!(
            "{} names {} columns; expected {}, one for each key of the first object: {}",
            SettingName("columns"),
            columns.roles.len(),
            keys.len(),
            keys.join(",")
        )),
    }
}

struct JsonLines {
    csv: Csv,
    /// The keys, in the order of the columns.
    names: Vec<String>,
    ignored: Vec<String>,
    /// The values of a line, kept apart by [`UNIT_SEPARATOR`].
    plain: Vec<u8>,
}

impl JsonLines {
    /// Writes the values of an object as a row.
    fn write(&mut self, object: &Map<String, Value>) -> Result<(), Malformed> {
        self.plain.clear();
        let mut found = 0;
        for (column, name) in self.names.iter().enumerate() {
            if column > 0 {
                self.plain.push(UNIT_SEPARATOR);
            }
            let value = object.get(name);
            found += usize::from(value.is_some());
            match value {
                _ if self.csv.columns.roles[column] == Role::Ignored => {}
                None | Some(Value::Null) => {}
                Some(Value::String(text)) if text.bytes().any(|byte| byte == UNIT_SEPARATOR) => {
                    return Err("found a control character (0x1f); expected text".into());
                }
                Some(Value::String(text)) => self.plain.extend_from_slice(text.as_bytes()),
                Some(Value::Bool(_) | Value::Number(_)) => {
                    self.plain.extend(value.map(Value::to_string).unwrap_or_default().into_bytes());
                }
                Some(Value::Array(_) | Value::Object(_)) => {
                    return Err(format!("found a list or an object for `{name}`; expected one value").into());
                }
            }
        }
        if found == object.len() { Ok(()) } else { self.check_new(object) }
    }

    /// Refuses keys that the first line lacks and that may decide what is cached.
    #[cold]
    fn check_new(&self, object: &Map<String, Value>) -> Result<(), Malformed> {
        let is_known = |name: &String| self.names.contains(name) || self.ignored.contains(&squeezed(name));
        let matters = |name: &&String| {
            !is_known(name) && !is_ignored(name) && role(name).map_or(is_vital(name), |role| role != Role::Ignored)
        };
        match object.keys().find(matters) {
            None => Ok(()),
            Some(name) => Err(format!("found the key `{name}`; expected the keys of the first line only").into()),
        }
    }
}

impl LineFormat for JsonLines {
    fn meta(&self) -> &Meta {
        &self.csv.meta
    }

    fn tables(&self) -> &Tables {
        &self.csv.tables
    }

    fn line(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed> {
        self.write(&object_of(&line)?)?;
        self.csv.row(Fields::new(TextLine::new(&self.plain), UNIT_SEPARATOR), batch)
    }

    fn go_on(&mut self, batch: &mut Batch) {
        self.csv.go_on(batch);
    }

    fn remarks(&self) -> Vec<String> {
        self.csv.remarks()
    }
}

const META: Meta =
    Meta { format: "mooncake", addressing: Addressing::Objects, has_time: true, has_ops: false, sample: None };

struct Mooncake;

impl LineFormat for Mooncake {
    fn meta(&self) -> &Meta {
        &META
    }

    fn line(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed> {
        let object = object_of(&line)?;
        let time = object.get("timestamp").map(Value::to_string).unwrap_or_else(|| "0".to_owned());
        let time = scaled(time.as_bytes(), 6)
            .or_else(|| scaled_in_any_notation(time.as_bytes(), 6))
            .ok_or_else(|| unexpected(time.as_bytes(), "the timestamp in milliseconds, below 2^64 nanoseconds"))?;
        let Some(Value::Array(ids)) = object.get("hash_ids") else {
            return Err(unexpected(&line, "a list of blocks under hash_ids"));
        };
        for (place, id) in ids.iter().enumerate() {
            let offset = match id {
                Value::Number(number) => of_id(number.to_string().as_bytes())?,
                Value::String(name) => of_id(name.as_bytes())?,
                other => return Err(unexpected(other.to_string().as_bytes(), "the id of a block")),
            };
            let flags = if place == 0 { 0 } else { FLAG_CONTINUED };
            batch.requests.push(Request { time, offset, flags, ..Request::default() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hotset_core::request::Op;

    use super::{
        super::super::testing::{opened, read, read_with, refused},
        *,
    };

    #[test]
    fn keys_are_columns_in_any_order() {
        let bytes = b"{\"time\": 1.5, \"op\": \"get\", \"key\": \"user:1\", \"size\": 4096, \"note\": {}}\n\
            {\"key\": 7, \"op\": \"SET\", \"time\": 2e0, \"size\": null}\n";
        assert_eq!(opened(None, bytes, &OpenOptions::default()).map(|trace| trace.format).ok(), Some("jsonl"));
        let whole = read(&JSONL_FORMAT, bytes);
        let rows = whole.requests.iter().map(|request| (request.time, request.op(), request.length));
        let expected = [(1_500_000_000, Op::Read, 4096), (2_000_000_000, Op::Write, 0)];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
        assert_eq!(whole.requests[1].offset, 7);
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("{\"key\": 7", "found `{\"key\": 7`; expected a JSON object"),
            ("[7]", "found `[7]`; expected a JSON object"),
            ("{\"key\": [7], \"size\": 1}", "found a list or an object for `key`; expected one value"),
            ("{\"key\": 7, \"size\": 1.5}", "found `1.5`; expected the length"),
            (
                "{\"key\": 7, \"size\": 1, \"op\": \"get\"}",
                "found the key `op`; expected the keys of the first line only",
            ),
        ];
        for (line, message) in cases {
            let bytes = format!("{{\"key\": 1, \"size\": 1}}\n{line}\n");
            let error = refused(&JSONL_FORMAT, bytes.as_bytes()).replace("\\\"", "\"");
            assert!(error.starts_with(&format!("t, line 2: {message}")), "{error}");
        }
        assert!(
            refused(&JSONL_FORMAT, b"{\"key\": 1, \"num_blocks\": 1}\n")
                .contains("column `num_blocks` is not understood")
        );
        let options = OpenOptions { ignore_columns: Some("num_blocks".to_owned()), ..OpenOptions::default() };
        assert!(read_with(&JSONL_FORMAT, b"{\"key\": 1, \"num_blocks\": 1}\n", &options).is_ok());
    }

    #[test]
    fn a_request_of_mooncake_reads_its_blocks() {
        let bytes = b"{\"timestamp\": 1000, \"input_length\": 1500, \"hash_ids\": [46, 47, 48]}\n{\"timestamp\": 1008, \"hash_ids\": [46]}\n";
        assert_eq!(opened(None, bytes, &OpenOptions::default()).unwrap().format, "mooncake");
        let whole = read(&MOONCAKE_FORMAT, bytes);
        let rows: Vec<(u64, u64, bool)> = whole
            .requests
            .iter()
            .map(|request| (request.time, request.offset, request.flags & FLAG_CONTINUED != 0))
            .collect();
        let second = 1_000_000_000;
        assert_eq!(rows, [(second, 46, false), (second, 47, true), (second, 48, true), (1_008_000_000, 46, false)]);
        let error = refused(&MOONCAKE_FORMAT, b"{\"timestamp\": 1, \"hash_ids\": 5}\n");
        assert!(error.contains("expected a list of blocks under hash_ids"), "{error}");
    }
}
