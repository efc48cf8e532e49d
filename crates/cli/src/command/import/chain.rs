//! Traces put one behind the other: files and applications of the same name are the same.

use std::collections::HashMap;

use hotset_core::request::Request;
use hotset_trace::{Addressing, Meta, Tables};

/// What traces have in common, and how the numbers of the one at hand translate.
pub(super) struct Chain {
    meta: Meta,
    /// The application that makes all requests, if the user named one.
    app: Option<String>,
    tables: Tables,
    files: Numbering,
    apps: Numbering,
}

/// The numbers of files or applications.
#[derive(Default)]
struct Numbering {
    /// Those of earlier traces, by name. A name refers to one thing at a time: a file that was deleted and created
    /// again has two numbers.
    earlier: HashMap<String, u32>,
    /// Numbers in the chain by those of the trace at hand.
    numbers: Vec<u32>,
}

impl Numbering {
    /// The number in the chain of the next `name` of the trace at hand; it is `fresh` if the chain does not know it.
    fn add(&mut self, name: &str, fresh: u32) -> u32 {
        let number = self.earlier.remove(name).filter(|_| !name.is_empty()).unwrap_or(fresh);
        self.numbers.push(number);
        number
    }

    fn translate(&self, number: u32) -> u32 {
        self.numbers.get(number as usize).copied().unwrap_or(number)
    }

    /// The trace at hand has ended; its names are those of earlier traces now.
    fn end(&mut self, names: impl Iterator<Item = String>) {
        self.earlier.extend(names.zip(self.numbers.drain(..)));
    }
}

impl Chain {
    /// Begins with a trace like `meta`.
    pub fn new(meta: Meta, app: Option<String>) -> Chain {
        let tables = Tables { apps: app.iter().cloned().collect(), ..Tables::default() };
        Chain { meta, app, tables, files: Numbering::default(), apps: Numbering::default() }
    }

    /// Names of all files and applications so far.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// True if a trace like `meta` can follow; otherwise what is different about it.
    pub fn check(&self, meta: &Meta) -> Result<(), String> {
        let kind = |meta: &Meta| match meta.addressing {
            Addressing::Bytes { unit: None } => "addressed by bytes".to_owned(),
            Addressing::Bytes { unit: Some(unit) } => format!("addressed by blocks of {unit} bytes"),
            Addressing::Objects => "addressed by objects".to_owned(),
        };
        let told = |meta: &Meta| match (meta.has_time, meta.has_ops) {
            (true, true) => "with times and operations",
            (true, false) => "with times but no operations",
            (false, true) => "with operations but no times",
            (false, false) => "without times and operations",
        };
        if meta.sample != self.meta.sample {
            return Err("this trace and the first are not samples of the same share; import it separately".to_owned());
        }
        if (meta.addressing, meta.has_time, meta.has_ops)
            == (self.meta.addressing, self.meta.has_time, self.meta.has_ops)
        {
            return Ok(());
        }
        let (this, first) = (kind(meta), kind(&self.meta));
        let (this_told, first_told) = (told(meta), told(&self.meta));
        Err(format!(
            "this trace is {this} {this_told}, expected one {first} {first_told} as the first; import it separately"
        ))
    }

    /// Renumbers the files and applications of requests, whose names are in `tables`.
    pub fn take(&mut self, requests: &mut [Request], tables: &Tables) {
        self.meet(tables);
        for request in requests {
            request.file = self.files.translate(request.file);
            request.app = if self.app.is_some() { 0 } else { self.apps.translate(request.app) };
        }
    }

    fn meet(&mut self, tables: &Tables) {
        for info in &tables.files[self.files.numbers.len()..] {
            let number = self.files.add(&info.path, self.tables.files.len() as u32);
            if number as usize == self.tables.files.len() {
                self.tables.files.push(info.clone());
            }
        }
        if self.app.is_some() {
            return;
        }
        for name in &tables.apps[self.apps.numbers.len()..] {
            let number = self.apps.add(name, self.tables.apps.len() as u32);
            if number as usize == self.tables.apps.len() {
                self.tables.apps.push(name.clone());
            }
        }
    }

    /// The trace at hand has ended. What `tables` say of its files by now holds from here on: names and sizes change.
    pub fn end(&mut self, tables: &Tables) {
        self.meet(tables);
        for (info, &number) in tables.files.iter().zip(&self.files.numbers) {
            self.tables.files[number as usize] = info.clone();
        }
        self.files.end(tables.files.iter().map(|info| info.path.clone()));
        self.apps.end(tables.apps.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use hotset_trace::FileInfo;

    use super::*;

    const META: Meta = Meta {
        format: "test",
        addressing: Addressing::Bytes { unit: None },
        has_time: true,
        has_ops: true,
        sample: None,
    };

    fn tables(files: &[&str], apps: &[&str]) -> Tables {
        let file = |path: &&str| FileInfo { path: path.to_string(), ..FileInfo::default() };
        Tables { files: files.iter().map(file).collect(), apps: apps.iter().map(|app| app.to_string()).collect() }
    }

    /// The chain's numbers of requests to each file and application of `tables`.
    fn numbers(chain: &mut Chain, tables: &Tables) -> Vec<(u32, u32)> {
        let count = tables.files.len().max(tables.apps.len()) as u32;
        let mut requests: Vec<Request> =
            (0..count).map(|number| Request { file: number, app: number, ..Request::default() }).collect();
        chain.take(&mut requests, tables);
        chain.end(tables);
        requests.iter().map(|request| (request.file, request.app)).collect()
    }

    #[test]
    fn equal_names_of_two_traces_are_one_thing() {
        let mut chain = Chain::new(META, None);
        // The first trace deletes `a` and makes it again: two files.
        assert_eq!(numbers(&mut chain, &tables(&["a", "b", "a"], &["x", "y"])), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(numbers(&mut chain, &tables(&["b", "c", "a"], &["z", "x"])), [(1, 2), (3, 0), (2, 2)]);
        let paths: Vec<&str> = chain.tables().files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((paths, chain.tables().apps.len()), (vec!["a", "b", "a", "c"], 3));
    }

    #[test]
    fn one_application_takes_the_place_of_all() {
        let mut chain = Chain::new(META, Some("db".to_owned()));
        assert_eq!(numbers(&mut chain, &tables(&["a", "b"], &["x", "y"])), [(0, 0), (1, 0)]);
        assert_eq!(chain.tables().apps, ["db"]);
    }

    #[test]
    fn unlike_traces_are_not_chained() {
        let chain = Chain::new(META, None);
        assert!(chain.check(&META).is_ok());
        let message = chain.check(&Meta { addressing: Addressing::Objects, ..META }).unwrap_err();
        assert!(message.contains("addressed by objects with times and operations, expected one addressed by bytes"));
        assert!(chain.check(&Meta { has_time: false, ..META }).is_err());
        let message = chain.check(&Meta { sample: Some(0.01), ..META }).unwrap_err();
        assert!(message.starts_with("this trace and the first are not samples of the same share"));
    }
}
