//! The evidence of a recording about storage, and whether it suffices for advice.

use serde::Serialize;

use crate::expand::options::Options;
use crate::inspect::{File, Inspection, Unseen};
use hotset_core::policy::PolicySpec;
use hotset_core::view::Maps;

/// Share of the bytes served by the page cache above which storage is not the bottleneck.
pub const SERVED: f64 = 0.99;
/// Repeated reads below which no figures are given.
pub const REPEATED: u64 = 1000;
/// Share of the data that may be mapped without a record of what was touched, and share of the bytes read that may
/// bypass the page cache.
pub const UNSEEN: f64 = 1.0 / 3.0;
/// Share of the time in which a process waited for storage, below which storage is not the bottleneck.
pub const WAITED: f64 = 0.01;

/// The evidence of a recording in addition to its references.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// Share of the bytes read, 0 to 1, that the recorded machine's page cache served; absent if not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// Share of the time of the recording, 0 to 1, in which a process of the machine waited for storage; absent if not
    /// measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited: Option<f64>,
    /// Share of the bytes read that bypassed the page cache, by direct I/O or on tmpfs; absent if not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bypassed: Option<f64>,
    /// Touched pages of mapped files were recorded, each when it was first mapped.
    pub has_touches: bool,
    /// Mapped data of which the references lack touches. Absent if there is none, or if the caller left mappings out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen: Option<Unseen>,
    /// Share of that among all distinct bytes of data, 0 to 1.
    pub unseen_share: f64,
    /// A database owns the files.
    pub is_database: bool,
    /// Files read once and never mapped or written, the most referenced first.
    pub read_once: Vec<String>,
}

/// The kind of the advice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// The page cache served everything while this was recorded, or no process waited for storage.
    FromMemory,
    /// Too many reads bypass the page cache.
    Bypassed,
    /// Too many touches of mapped data are invisible.
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
        let bypassed = inspection.page_cache.map(|told| {
            let read = told.cached_bytes + told.fetched_bytes + told.bypassed_bytes + PAGE * told.touches;
            told.bypassed_bytes as f64 / read.max(1) as f64
        });
        let unseen = inspection.unseen.clone().filter(|_| options.maps == Maps::Auto);
        let (bytes, referenced) = unseen.as_ref().map_or((0, 0), |unseen| (unseen.bytes, unseen.referenced_bytes));
        let others = inspection.footprint_bytes.unwrap_or(0).saturating_sub(referenced) as f64;
        let files = || inspection.files.iter().flat_map(|files| &files.top);
        Evidence {
            cached,
            waited: None,
            bypassed,
            has_touches: inspection.page_cache.is_some_and(|told| told.touches > 0),
            unseen,
            unseen_share: if bytes > 0 { bytes as f64 / (bytes as f64 + others) } else { 0.0 },
            is_database: files().any(|file| is_of_database(&file.path)),
            read_once: files().filter(|file| is_read_once(file)).take(1).map(|file| file.path.clone()).collect(),
        }
    }

    /// Finding that needs no figures; `None` if the trace is worth simulating.
    pub(super) fn finding(&self, has_memory: bool) -> Option<Finding> {
        if self.bypassed.is_some_and(|bypassed| bypassed > UNSEEN) {
            return Some(Finding::Bypassed);
        }
        let is_served = self.cached.is_some_and(|cached| cached >= SERVED);
        if !has_memory && (is_served || self.waited.is_some_and(|waited| waited < WAITED)) {
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

/// A database with buffers of its own.
pub struct Database {
    /// The beginning of the name of its server.
    server: &'static str,
    /// The policy of its buffers.
    policy: &'static str,
    /// The setting that says how large they are.
    pub setting: &'static str,
}

const DATABASES: [Database; 3] = [
    Database { server: "postgres", policy: "clock-sweep", setting: "shared_buffers" },
    Database { server: "mysqld", policy: "innodb", setting: "innodb_buffer_pool_size" },
    Database { server: "mariadbd", policy: "innodb", setting: "innodb_buffer_pool_size" },
];

/// The one that makes most references of a trace, if it is one that does.
pub fn database_of(inspection: &Inspection) -> Option<&'static Database> {
    let first = inspection.apps.as_ref()?.top.first()?;
    DATABASES.iter().find(|database| first.name.starts_with(database.server))
}

/// What its buffers do, to be compared with.
pub fn buffers(inspection: &Inspection) -> Vec<PolicySpec> {
    let policy = database_of(inspection).map(|database| database.policy);
    policy.map(|name| PolicySpec::parse(name).expect("it is in the registry")).into_iter().collect()
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
        let evidence = Evidence { waited: Some(0.009), ..Evidence::default() };
        assert_eq!((evidence.finding(false), evidence.finding(true)), (Some(Finding::FromMemory), None));
        let evidence = Evidence { waited: Some(0.01), cached: Some(0.98), ..Evidence::default() };
        assert_eq!(evidence.finding(false), None);
        let evidence = Evidence { unseen_share: 0.4, ..Evidence::default() };
        assert_eq!(evidence.finding(true), Some(Finding::Unseen));
        let evidence = Evidence { bypassed: Some(0.4), ..Evidence::default() };
        assert_eq!(evidence.finding(true), Some(Finding::Bypassed));
    }
}
