//! Databases that have buffers of their own.

use crate::inspect::Inspection;
use hotset_core::policy::PolicySpec;

/// One of them.
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
