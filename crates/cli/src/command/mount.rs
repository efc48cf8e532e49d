//! `hotset mount`: a directory, or objects of a store, served through a cache.

mod block;
mod checks;
mod detached;
mod log;
mod probe;
mod serving;
mod ssd;
mod steered;
mod stores;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use hotset_cache::{CacheError, FileCache, Recording, Settings};
use hotset_core::policy::{PolicySpec, Setting};
use hotset_core::spec::Value;
use hotset_mount::{Mode, Options, Staleness, device_at};
use hotset_serve::control::of_mount;
use hotset_serve::steering::Prepared;
use log::Log;

use crate::failure::Failure;
use crate::options::control;
use crate::options::destination::Destination;
use crate::options::values;
use crate::options::values::By;
use crate::output::{human, note};

/// Serve a directory or an object store through a cache with a chosen policy
#[derive(Args)]
#[command(after_help = "\
Examples:
  A directory:
    hotset mount /nas/project /mnt/project --memory 2G --policy render
  Record what is served, and replay it:
    hotset mount /archive /mnt/archive --memory 512M -p arc --record day.hst
    hotset simulate day.hst --policy arc --size 512M
  An object store (also gs:// and az://), read-only:
    hotset mount s3://bucket/prefix /mnt/data --memory 4G --staleness 10s
  The same, writable; an object is written as a whole:
    hotset mount s3://bucket/prefix /mnt/data --memory 4G --writable
  A WebDAV server, always read-only:
    hotset mount https://host/directory /mnt/data --memory 4G

Credentials come from the environment (AWS_ACCESS_KEY_ID, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_KEY and others), from ~/.aws, or from the container or machine; see docs/guide/slow-stores.md. Web servers receive no credentials.

`hotset top` shows a running mount and `hotset ctl` changes it. To unmount, press Ctrl-C, send SIGTERM or run `umount MOUNTPOINT`. docs/reference/mount.md lists the guarantees, docs/guide/speed-up-a-directory.md the cost of each mode.")]
pub(crate) struct Mount {
    /// Directory to serve, or an address: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, or
    /// https://HOST/DIRECTORY (WebDAV)
    source: PathBuf,
    /// Where to mount it: an empty directory outside the source
    mountpoint: PathBuf,
    /// Memory for cached blocks (hard limit); 0 disables the cache. With --mode steered, the share of the page cache
    /// that the policy may use
    #[arg(long, value_name = "SIZE", value_parser = Value::capacity, help_heading = "Cache")]
    memory: u64,
    /// Policy, e.g. arc, render, s3-fifo(small=5%) (see `hotset policies`); auto adapts to the workload
    #[arg(short, long, value_name = "SPEC", default_value = "auto", help_heading = "Cache")]
    policy: String,
    /// Block size, a power of two from 512 to 16M; from 4K to 2M with --mode steered [default: 4K; 128K for object
    /// stores; for network file systems and FUSE 128K if --memory holds all files, otherwise 16K to 64K by the time of
    /// a read, or less if the files are small; 16K for --ssd]
    #[arg(long, value_name = "SIZE", value_parser = Value::bytes, help_heading = "Cache")]
    block: Option<u64>,
    /// Storage model of the source, for policies that weigh misses by cost (auto): nvme, ssd, hdd, nfs, s3, disk,
    /// latency, or LATENCY,BANDWIDTH,PARALLEL such as 5ms,100M,8
    #[arg(long, value_name = "MODEL", help_heading = "Cache")]
    store: Option<String>,
    /// What identifies an application
    #[arg(long, value_enum, default_value_t = By::Exe, help_heading = "Cache")]
    app_by: By,
    /// How the kernel's page cache is used
    #[arg(long, value_enum, default_value_t = InFront::Strict, help_heading = "Cache")]
    mode: InFront,
    /// Maximum age of cached names, attributes and listings, and of the check that an open makes: a time, `forever`,
    /// or `revalidate` to ask the source every time. `open` means 1s for names and attributes, and a check at each
    /// open
    #[arg(long, value_name = "TIME", value_parser = parse_staleness, default_value = "open", help_heading = "Consistency")]
    staleness: Staleness,
    /// Delay writes to the source by up to this time (5s if no time is given). Delayed writes are lost if the process
    /// is killed or the power fails, unless the file was synced or closed
    #[arg(long, value_name = "TIME", value_parser = parse_age, num_args = 0..=1, default_missing_value = "5s", help_heading = "Consistency")]
    write_back: Option<Duration>,
    /// Rules that assign classes of data by path, kind, size and application (see docs/reference/classes.md)
    #[arg(long, value_name = "FILE", help_heading = "Cache")]
    classes: Option<PathBuf>,
    /// Record all served requests to a trace
    #[arg(long, value_name = "OUT.hst", help_heading = "Monitoring")]
    record: Option<PathBuf>,
    /// Append a line per repartition to this file [default: print it to the terminal]
    #[arg(long, value_name = "FILE", help_heading = "Monitoring")]
    log: Option<PathBuf>,
    /// Serve Prometheus metrics and a JSON status over HTTP, e.g. at 127.0.0.1:9400; port 0 picks a free port
    #[arg(long, value_name = "HOST:PORT", help_heading = "Monitoring")]
    listen: Option<String>,
    /// Refuse all changes
    #[arg(long, help_heading = "Access")]
    readonly: bool,
    /// Allow objects to be written (as a whole) and deleted [default: read-only]
    #[arg(long, conflicts_with = "readonly", help_heading = "Access")]
    writable: bool,
    /// Honour set-user-id bits if the source's file system does; root only
    #[arg(long, help_heading = "Access")]
    allow_suid: bool,
    /// Honour device files if the source's file system does; root only
    #[arg(long, help_heading = "Access")]
    allow_dev: bool,
    /// Maximum number of concurrent requests to the object store [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Object stores")]
    requests: Option<u16>,
    /// Time limit for an operation on the object store, including retries [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_age, help_heading = "Object stores")]
    timeout: Option<Duration>,
    /// Also follow redirects of the web server to this host; may be repeated [default: only within its own scheme,
    /// host and port]
    #[arg(long, value_name = "HOST[:PORT]", help_heading = "Object stores")]
    allow_redirect: Vec<String>,
    /// Maximum bytes per second to and from the object store, at least 64K
    #[arg(long, value_name = "SIZE", value_parser = parse_bandwidth, help_heading = "Object stores")]
    bandwidth: Option<u64>,
    /// Let all users read the mount of an object store; only the mounting user may write. Without root,
    /// /etc/fuse.conf must contain user_allow_other
    #[arg(long, help_heading = "Access")]
    allow_other: bool,
    #[command(flatten)]
    ssd: ssd::Ssd,
    /// Run in the background once mounted
    #[arg(long, help_heading = "Process")]
    daemon: bool,
    /// On a termination signal, how long to wait for open files, and at unmount for uploads; a second signal stops at
    /// once
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30s", help_heading = "Process")]
    stop_timeout: Duration,
    /// Seed for policies that use random numbers
    #[arg(long, default_value_t = 1, help_heading = "Cache")]
    seed: u64,
    /// Internal: this process is the background process
    #[arg(long, hide = true, conflicts_with = "daemon")]
    detached: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum InFront {
    /// The kernel caches no file data; every read reaches hotset's cache
    Strict,
    /// The page cache in front of hotset's cache answers repeated reads
    Fast,
    /// The page cache is the only cache; hotset drops the pages that the policy evicts (needs BPF)
    Steered,
}

impl Mount {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let policy = PolicySpec::parse(&self.policy)
            .map_err(|error| Failure::spec("--policy", &self.policy, &error))?
            .set_in(Setting::Serving);
        let served = stores::Served::find(&self)?;
        checks::fuse()?;
        if self.daemon {
            return detached::start();
        }
        self.check_passing_through()?;
        if self.readonly && self.write_back.is_some() {
            return Err(Failure::Usage(
                "--write-back cannot be combined with --readonly; remove one of them".to_owned(),
            ));
        }
        let chosen = self.block(&served);
        let block = chosen.block;
        self.ssd.check(&self, &served)?;
        let steered = self.steered(&policy, block, served.mountpoint())?;
        let cache = match self.memory > 0 && steered.is_none() {
            true => Some(Arc::new(self.cache(&policy, block)?)),
            false => None,
        };
        let store = served.reach()?;
        if let Some(cache) = cache.as_ref().filter(|_| self.ssd.is_asked_for()) {
            // Its files are not touched for a scheme that takes none.
            cache.check_takes_tier()?;
            self.ssd.open(&self, block, &served, store.as_deref())?.map_or(Ok(()), |tier| cache.put_on(tier))?;
        }
        let options = Options {
            mode: match self.mode {
                InFront::Strict => Mode::Strict,
                InFront::Fast => Mode::Fast,
                InFront::Steered => Mode::Steered,
            },
            app_by: self.app_by.into(),
            staleness: self.staleness,
            write_back: self.write_back,
            readonly: self.readonly || !served.is_writable(),
            allow_suid: self.allow_suid,
            allow_dev: self.allow_dev,
            allow_other: self.allow_other,
            stop_timeout: Some(self.stop_timeout),
            told: steered.as_ref().map(Prepared::told),
        };
        let listening = self.listen.as_deref().map(control::listen).transpose()?;
        let log = cache.as_ref().map(|cache| Log::start(cache, block, self.log.as_deref())).transpose()?;
        // Files created from now on get the mode that the caller asked for; the callers have masks of their own.
        rustix::process::umask(rustix::fs::Mode::empty());
        serving::raise_limit();
        let (shown, mountpoint) = (served.shown(), served.mountpoint());
        serving::explain_panics(&shown);
        let mounted = served.mount(store.clone(), cache.clone(), options)?;
        let subject = cache.as_ref().map(|cache| of_mount(cache.clone(), store, &shown, mountpoint));
        let _socket = subject.clone().and_then(|subject| control::serve_mount(device_at(mountpoint), subject));
        let listening = match (listening, subject) {
            (Some(listening), Some(subject)) => control::serve_status(listening, subject).map(|()| None)?,
            (listening, _) => listening,
        };
        self.tell_defaults(chosen, &served);
        let steering =
            steered.map(|prepared| steered::start(prepared, &mounted, mountpoint, &shown, listening)).transpose()?;
        serving::serve(mounted, &shown, mountpoint, cache.as_ref(), self.detached, self.stop_timeout)?;
        steering.map_or(Ok(()), |steering| steered::finish(steering, self.detached))?;
        log.into_iter().for_each(Log::finish);
        Ok(())
    }

    /// The size of a block, given or chosen.
    fn block(&self, served: &stores::Served) -> block::Chosen {
        let steers = matches!(self.mode, InFront::Steered);
        match self.block {
            Some(block) => block::Chosen::fixed(block),
            // The kernel's own pages: the kernel reads ahead.
            None if steers || self.memory == 0 => block::Chosen::fixed(block::LOCAL),
            None => block::choose(served.known(self.ssd.size()), self.memory),
        }
    }

    /// Prints the settings that follow from the source, and what a mount costs where the source is as fast.
    fn tell_defaults(&self, chosen: block::Chosen, served: &stores::Served) {
        if let Some(why) = chosen.why {
            let size = human::bytes(chosen.block);
            note(format_args!("block size {size}, because {why}; --block sets another"));
        }
        let slow = chosen.latency.filter(|&latency| latency >= SLOW);
        let slow = slow.map(|latency| format!("a call takes about {}", human::latency(latency.as_secs_f64())));
        let small = chosen.mean.filter(|&mean| mean <= SMALL);
        let small = small.map(|mean| format!("the files here have only {} on average", human::bytes(mean)));
        if let Some(why) = slow.or(small).filter(|_| self.staleness == Staleness::Open) {
            note(format_args!(
                "each open of a file asks this source several times, and {why}; `--staleness 10s` answers opens and \
                 attributes from memory, up to ten seconds old"
            ));
        }
        let fast = chosen.latency.filter(|&latency| latency < FAST && matches!(self.mode, InFront::Strict));
        if let Some(latency) = fast {
            let latency = human::latency(latency.as_secs_f64());
            note(format_args!(
                "a read of this source takes only {latency}, so small reads may be slower than without this mount; \
                 `hotset try` measures what helps"
            ));
        }
        let is_local = !served.known(None).is_remote && !self.ssd.is_asked_for();
        if is_local && self.memory > 0 && matches!(self.mode, InFront::Strict) {
            note(
                "this source is a local directory, which the page cache of the kernel caches, too; a hit there is tens of \
                 microseconds faster than a hit of this mount. `hotset steer` applies a policy to the page cache itself, \
                 and `hotset try` measures what helps",
            );
        }
    }

    /// Without a cache there is nothing to tell.
    fn check_passing_through(&self) -> Result<(), Failure> {
        let told = [
            ("--record", self.record.is_some()),
            ("--log", self.log.is_some()),
            ("--listen", self.listen.is_some()),
            ("--classes", self.classes.is_some()),
            ("--store", self.store.is_some()),
            ("--staleness", self.staleness != Staleness::Open),
            ("--write-back", self.write_back.is_some()),
        ];
        match told.into_iter().find(|&(_, given)| given && self.memory == 0) {
            Some((option, _)) => Err(Failure::Usage(format!(
                "{option} cannot be combined with --memory 0, which disables the cache; remove one of them"
            ))),
            None => Ok(()),
        }
    }

    /// The parts of a mount where the kernel keeps the pages and the policy decides.
    fn steered(&self, policy: &PolicySpec, block: u64, mountpoint: &Path) -> Result<Option<Prepared>, Failure> {
        let InFront::Steered = self.mode else { return Ok(None) };
        let no_use = [
            ("--record", self.record.is_some(), "reads that hit are the kernel's, which a recording would lack"),
            ("--log", self.log.is_some(), "nothing is partitioned there"),
            ("--write-back", self.write_back.is_some(), "without frames no write can wait"),
            ("--store", self.store.is_some(), "there a hit is a hit, whatever a miss takes"),
            (
                "--staleness TIME",
                matches!(self.staleness, Staleness::For(_)),
                "nothing is kept there but the pages: leave it out, or say revalidate",
            ),
        ];
        if let Some((option, _, why)) = no_use.into_iter().find(|&(_, given, _)| given) {
            return Err(Failure::Usage(format!("{option} cannot be combined with --mode steered: {why}")));
        }
        let rules = self.classes.as_deref().map(values::classes).transpose()?;
        steered::prepare(policy, self.memory, block, mountpoint, rules, self.app_by.into()).map(Some)
    }

    fn cache(&self, policy: &PolicySpec, block: u64) -> Result<FileCache, Failure> {
        let rules = self.classes.as_deref().map(values::classes).transpose()?;
        let store = values::storage("--store", self.store.as_deref())?;
        let settings = Settings { policy: policy.clone(), memory: self.memory, block, rules, seed: self.seed, store };
        // The scheme is checked before a recording replaces a file.
        let Some(path) = &self.record else { return Ok(FileCache::new(&settings, None)?) };
        FileCache::new(&settings, None)?;
        let output = Destination::new(path, &[])?;
        let recording = Recording::create(output.path(), block, &policy.to_string())?;
        Ok(FileCache::new(&settings, Some(recording))?)
    }
}

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Failure {
        match error {
            CacheError::Recording(error) => Failure::Work(error.to_string()),
            CacheError::Memory { .. } | CacheError::NoMemory { .. } => Failure::Work(error.to_string()),
            error => Failure::Usage(error.to_string()),
        }
    }
}

/// The time of a call from which on the cost of metadata is worth a remark.
const SLOW: Duration = Duration::from_millis(1);

/// The time of a read below which a mount may be slower than its source.
const FAST: Duration = Duration::from_micros(350);

/// The size of files up to which they are often opened only for one read.
const SMALL: u64 = 32 << 10;

fn parse_staleness(text: &str) -> Result<Staleness, String> {
    match (text, parse_time(text)) {
        ("open", _) => Ok(Staleness::Open),
        ("revalidate", _) => Ok(Staleness::Revalidate),
        ("forever", _) => Ok(Staleness::For(Duration::MAX)),
        (_, Ok(time)) if !time.is_zero() => Ok(Staleness::For(time)),
        _ => Err(format!("{text:?} is not a valid age; expected one such as 10s, or forever, revalidate, open")),
    }
}

fn parse_age(text: &str) -> Result<Duration, String> {
    parse_time(text)
        .ok()
        .filter(|age| !age.is_zero())
        .ok_or_else(|| format!("{text:?} is not a valid delay; expected one such as 5s or 500ms"))
}

/// Bytes a second, of which a block takes seconds at most.
fn parse_bandwidth(text: &str) -> Result<u64, String> {
    const LEAST: u64 = 64 << 10;
    Value::capacity(text)
        .ok()
        .filter(|&bytes| bytes >= LEAST)
        .ok_or_else(|| format!("{text:?} is not a valid rate; expected bytes per second, at least 64K, such as 50M"))
}

/// A time such as `30s` or `500ms`.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit) = match (text.strip_suffix('m'), text.strip_suffix('h')) {
        (Some(number), _) => (format!("{number}s"), 60),
        (_, Some(number)) => (format!("{number}s"), 3600),
        _ => (text.to_owned(), 1),
    };
    let time = match Value::parse(&number) {
        Ok(Value::Time(nanos)) => Duration::from_nanos(nanos).checked_mul(unit),
        _ => None,
    };
    time.ok_or_else(|| format!("{text:?} is not a valid time; expected one such as 10m, 30s or 500ms"))
}
