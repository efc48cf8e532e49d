//! What a recording shows about storage, and whether that is enough to advise on.

use serde::Serialize;

use crate::inspect::{File, Inspection, Unseen};
use crate::prepare::Options;
use hotset_core::view::Maps;

/// Share of the bytes served by the page cache above which storage is not the bottleneck.
pub const SERVED: f64 = 0.99;
/// Repeated reads below which no figures are given.
pub const REPEATED: u64 = 1000;
/// Share of the data that may be mapped without a record of what was touched.
pub const UNSEEN: f64 = 1.0 / 3.0;

/// What a recording shows beside its references.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// Share of the bytes read, 0 to 1, that the recorded machine's page cache served; absent if not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// Mapped data that the references lack; absent where there is none, or where the caller left mappings out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen: Option<Unseen>,
    /// Share of that among all distinct bytes of data, 0 to 1.
    pub unseen_share: f64,
    /// A database owns the files.
    pub is_database: bool,
    /// Files read once and never mapped or written, the most referenced first.
    pub read_once: Vec<String>,
}

/// What the advice comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// The page cache served everything while this was recorded.
    FromMemory,
    /// Too much mapped data is invisible: record again.
    Unseen,
    /// Reads are the first of their blocks.
    NothingRepeats,
    /// Too few repeated reads: record more.
    TooLittle,
    /// No measure gains.
    #[default]
    NothingHelps,
    /// The measures would gain.
    Gains,
}

impl Evidence {
    /// Collects it from an inspection made with the same options.
    pub fn of(inspection: &Inspection, options: &Options) -> Evidence {
        const PAGE: u64 = 4096;
        let cached = inspection.page_cache.and_then(|told| {
            let fetched = told.fetched_bytes + PAGE * told.fetched_touches;
            let cached = told.cached_bytes + PAGE * (told.touches - told.fetched_touches);
            (cached + fetched > 0).then(|| cached as f64 / (cached + fetched) as f64)
        });
        let unseen = inspection.unseen.clone().filter(|_| options.maps == Maps::Auto);
        let bytes = unseen.as_ref().map_or(0, |unseen| unseen.bytes) as f64;
        let seen = inspection.footprint_bytes.unwrap_or(0) as f64;
        let files = || inspection.files.iter().flat_map(|files| &files.top);
        Evidence {
            cached,
            unseen,
            unseen_share: if bytes > 0.0 { bytes / (bytes + seen) } else { 0.0 },
            is_database: files().any(|file| is_of_database(&file.path)),
            read_once: files().filter(|file| is_read_once(file)).take(1).map(|file| file.path.clone()).collect(),
        }
    }

    /// Finding that needs no figures; `None` if the trace is worth simulating.
    pub(super) fn finding(&self, has_memory: bool) -> Option<Finding> {
        if !has_memory && self.cached.is_some_and(|cached| cached >= SERVED) {
            return Some(Finding::FromMemory);
        }
        (self.unseen_share > UNSEEN).then_some(Finding::Unseen)
    }
}

/// Files below this share of the references do not matter.
const MATTERS: f64 = 0.01;

fn is_read_once(file: &File) -> bool {
    let once = file.distinct_blocks == Some(file.references) && file.write_requests == 0;
    once && !file.is_mapped && file.share >= MATTERS && !file.path.contains(['*', '?', '[', ']', '{', '}', '\\', ','])
}

/// True if the path is one of a database's own files, below which no other cache should be mounted.
fn is_of_database(path: &str) -> bool {
    const ENDS: [&str; 11] =
        [".ibd", ".sqlite", ".sqlite3", ".db", ".db3", ".mdb", ".sst", "-wal", "-journal", "/ibdata1", ".wt"];
    const WITHIN: [&str; 6] = ["/pg_wal/", "/pg_xact/", "/pg_tblspc/", "/base/", "/global/pg_", "/pgdata/"];
    let is_relation = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        name.starts_with(|first: char| first.is_ascii_digit())
    };
    ENDS.iter().any(|end| path.ends_with(end))
        || WITHIN.iter().any(|part| path.contains(part) && (*part != "/base/" || is_relation(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_databases_are_recognised() {
        for path in ["/var/lib/postgresql/17/main/base/5/16384", "/a/app.db", "/a/app.db-wal", "/v/mysql/x/t.ibd"] {
            assert!(is_of_database(path), "{path}");
        }
        for path in ["/srv/base/readme.txt", "/srv/film/7.png", "/usr/include/db.h"] {
            assert!(!is_of_database(path), "{path}");
        }
    }

    #[test]
    fn memory_that_was_asked_for_is_a_question_of_its_own() {
        let evidence = Evidence { cached: Some(1.0), ..Evidence::default() };
        assert_eq!((evidence.finding(false), evidence.finding(true)), (Some(Finding::FromMemory), None));
        let evidence = Evidence { unseen_share: 0.4, ..Evidence::default() };
        assert_eq!(evidence.finding(true), Some(Finding::Unseen));
    }
}
