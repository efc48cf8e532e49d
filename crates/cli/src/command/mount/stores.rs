//! The source of a mount: a directory, or objects of a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hotset_cache::FileCache;
use hotset_mount::{Mode, Mounted, Options, PastCache, Plain, Store as Files, is_remote};
use hotset_store::{Limits, Location, Store, StoreError};

use super::{InFront, Mount, block, checks};
use crate::failure::Failure;

/// The source, and the mountpoint.
pub(super) enum Served {
    Directory { source: PathBuf, mountpoint: PathBuf, is_remote: bool },
    Objects { location: Location, limits: Limits, mountpoint: PathBuf, is_writable: bool },
}

impl Served {
    /// The source that the command names, checked as far as that is possible without a request to a store.
    pub fn find(mount: &Mount) -> Result<Served, Failure> {
        let text = mount.source.to_string_lossy();
        let directory = Location::directory(&text);
        if directory.is_none() && Location::is_meant(&text) {
            return Served::objects(mount, &text);
        }
        let told = [
            ("--requests", mount.requests.is_some()),
            ("--timeout", mount.timeout.is_some()),
            ("--bandwidth", mount.bandwidth.is_some()),
            ("--allow-redirect", !mount.allow_redirect.is_empty()),
            ("--writable", mount.writable),
            ("--allow-other", mount.allow_other),
        ];
        if let Some((option, _)) = told.iter().find(|(_, given)| *given) {
            return Err(Failure::Usage(format!(
                "{option} needs an object store such as s3://bucket/prefix; remove it for a directory"
            )));
        }
        let source = directory.as_deref().unwrap_or(&mount.source);
        let (source, mountpoint) = checks::directories(source, &mount.mountpoint)?;
        let is_remote = is_remote(&source)
            .map_err(|error| Failure::Work(format!("cannot look at {}: {error}", source.display())))?;
        Ok(Served::Directory { source, mountpoint, is_remote })
    }

    fn objects(mount: &Mount, text: &str) -> Result<Served, Failure> {
        let unfit = |error| Failure::Usage(format!("cannot serve this: {error}"));
        let mut location = Location::parse_served(text).map_err(unfit)?;
        for host in &mount.allow_redirect {
            location
                .permit_redirect(host)
                .map_err(|error| Failure::Usage(format!("--allow-redirect {host}: {error}")))?;
        }
        if location.is_web() && mount.writable {
            return Err(Failure::Usage(format!(
                "--writable: {location} is a web server, which is always read-only; remove the option"
            )));
        }
        let told = [
            ("--write-back", mount.write_back.is_some()),
            ("--allow-suid", mount.allow_suid),
            ("--allow-dev", mount.allow_dev),
            ("--mode steered", matches!(mount.mode, InFront::Steered)),
        ];
        if let Some((option, _)) = told.iter().find(|(_, given)| *given) {
            return Err(Failure::Usage(format!(
                "{option} is not supported for {location}, only for directories; remove it"
            )));
        }
        let default = Limits::default();
        let limits = Limits {
            requests: mount.requests.map_or(default.requests, usize::from),
            timeout: mount.timeout.unwrap_or(default.timeout),
            bandwidth: mount.bandwidth,
            ..default
        };
        let mountpoint = checks::mountpoint(&mount.mountpoint)?;
        Ok(Served::Objects { location, limits, mountpoint, is_writable: mount.writable })
    }

    /// Something may be changed there, unless the user says otherwise.
    pub fn is_writable(&self) -> bool {
        match self {
            Served::Directory { .. } => true,
            Served::Objects { is_writable, .. } => *is_writable,
        }
    }

    /// The facts that the default size of a block depends on, with a tier of so many bytes.
    pub fn known(&self, tier: Option<u64>) -> block::Known<'_> {
        let is_store = matches!(self, Served::Objects { .. });
        let is_remote = is_store || matches!(self, Served::Directory { is_remote: true, .. });
        block::Known { is_store, is_remote, directory: self.source(), tier }
    }

    pub fn mountpoint(&self) -> &Path {
        match self {
            Served::Directory { mountpoint, .. } | Served::Objects { mountpoint, .. } => mountpoint,
        }
    }

    /// The directory, if it is one.
    pub fn source(&self) -> Option<&Path> {
        match self {
            Served::Directory { source, .. } => Some(source),
            Served::Objects { .. } => None,
        }
    }

    /// As it is called in messages.
    pub fn shown(&self) -> PathBuf {
        match self {
            Served::Directory { source, .. } => source.clone(),
            Served::Objects { location, .. } => location.to_string().into(),
        }
    }

    /// The store, if it is one, after its first answer: a refusal is reported with the store's reason, before anything
    /// is mounted.
    pub fn reach(&self) -> Result<Option<Arc<Store>>, Failure> {
        match self {
            Served::Directory { .. } => Ok(None),
            Served::Objects { location, limits, is_writable, .. } => reached(location, *limits, *is_writable).map(Some),
        }
    }

    /// Mounts it, and the store that was [reached](Served::reach).
    pub fn mount(
        &self,
        store: Option<Arc<Store>>,
        cache: Option<Arc<FileCache>>,
        options: Options,
    ) -> Result<Mounted, Failure> {
        let mounted = match store {
            Some(store) => hotset_mount::mount_objects(store, self.mountpoint(), cache, options),
            None => {
                let files: Arc<dyn Files> = match options.mode {
                    Mode::Steered => Arc::new(PastCache),
                    Mode::Strict | Mode::Fast => Arc::new(Plain),
                };
                hotset_mount::mount(&self.shown(), self.mountpoint(), cache, files, options)
            }
        };
        mounted.map_err(|error| checks::explain(self.mountpoint(), &error))
    }
}

/// The store, which has answered. Where something may be written there need be nothing yet.
fn reached(location: &Location, limits: Limits, is_writable: bool) -> Result<Arc<Store>, Failure> {
    let refused = |error| match error {
        StoreError::Denied if location.is_web() => Failure::Work(format!(
            "cannot serve {location}: the server lists it only with credentials (401 or 403 to PROPFIND), and web servers are given \
             none: have it let everybody read there, or mount it by another program and serve that directory"
        )),
        error @ StoreError::Elsewhere(_) => {
            Failure::Work(format!("cannot serve {location}: {error} with --allow-redirect HOST[:PORT]"))
        }
        error => Failure::Work(format!("cannot serve {location}: {error}")),
    };
    let store = Store::open(location, limits).map_err(refused)?;
    let page = store.list("", None).map_err(refused)?;
    if !page.is_there && location.has_prefix() && !is_writable {
        return Err(Failure::Work(format!(
            "cannot serve {location}: no object's key begins so; check how it is spelt, upper and lower case count"
        )));
    }
    Ok(Arc::new(store))
}
