//! The attributes of a reference besides its block: the type of its file, its class, the application.
//!
//! Types and classes follow from names, sizes and applications, by the rules of mounts and simulations. The kernel's
//! events name processes; [`Naming`] gives the application of a process, and its answer is cached for a while, since a
//! process may run another program. A process that has ended before is `unknown`.

use hotset_core::classify::{Class, Classifier, FileFacts};
use hotset_core::policy::{App, PolicySpec, file_group};
use hotset_core::request::{Kind, Op, Request};
use hotset_core::view::View;
use rustc_hash::FxHashMap;

use crate::kernel::PAGE;

/// The name of the application that a process is of; `None` if it has ended.
pub type Naming = Box<dyn Fn(u32) -> Option<String> + Send>;

/// Applications that are distinguished; further ones are [`OTHERS`].
const MOST: usize = 4096;
const OTHERS: &str = "others";
/// A process without a known name.
const UNKNOWN: &str = "unknown";
/// Nanoseconds for which a name is cached, and processes whose names are cached.
const FRESH: u64 = 500_000_000;
const PROCESSES: usize = 4096;

/// True if the policy can distinguish applications, and asks for it: its feed has to report processes.
pub fn tells_applications(spec: &PolicySpec) -> bool {
    spec.info().needs.app || !spec.apps().is_empty()
}

/// The attributes of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The type of the file, a [`file_group`].
    pub group: u32,
    /// Its class by the rules of the policy.
    pub class: Class,
    /// The application.
    pub app: u32,
}

/// Tells it.
pub(crate) struct Marks {
    classifier: Option<Classifier>,
    files: Vec<File>,
    apps: Option<Applications>,
}

#[derive(Clone, Debug, Default)]
struct File {
    path: String,
    /// Nothing is known of a file that was not described.
    bytes: Option<u64>,
    kind: Kind,
    group: u32,
}

impl Marks {
    /// For a policy with this view; `naming` where its applications are to be distinguished.
    pub fn new(spec: &PolicySpec, view: &View, naming: Option<Naming>) -> Marks {
        let apps = naming.filter(|_| tells_applications(spec)).map(|naming| Applications::new(spec, naming));
        Marks { classifier: view.rules.clone().map(Classifier::new), files: Vec::new(), apps }
    }

    /// The applications of which the policy speaks.
    pub fn known(&self) -> &[App] {
        self.apps.as_ref().map_or(&[], |apps| &apps.known)
    }

    /// Sets the path and the size of a file.
    pub fn describe(&mut self, file: u32, path: &str, bytes: u64) {
        let number = file as usize;
        if number >= self.files.len() {
            self.files.resize(number + 1, File::default());
        }
        if self.files[number].path != path {
            self.forget(file);
        }
        let kind = Kind::Datafile;
        self.files[number] = File { path: path.to_owned(), bytes: Some(bytes), kind, group: file_group(path, kind) };
    }

    /// Pages of the file as far as is known; a file without a description has no limit.
    pub fn pages(&self, file: u32) -> u64 {
        let bytes = self.files.get(file as usize).and_then(|file| file.bytes);
        bytes.map_or(u64::MAX, |bytes| bytes.div_ceil(PAGE))
    }

    /// The number of the file may be another one's.
    pub fn forget(&mut self, file: u32) {
        self.files.get_mut(file as usize).into_iter().for_each(|file| *file = File::default());
        self.classifier.iter_mut().for_each(|classifier| classifier.forget_file(file));
    }

    /// The attributes of a read of the file by a process at `at` nanoseconds; process 0 is unknown.
    pub fn of(&mut self, file: u32, process: u32, at: u64) -> Mark {
        let Marks { classifier, files, apps } = self;
        let app = apps.as_mut().map_or(0, |apps| apps.of(process, at));
        let nameless = File::default();
        let found = files.get(file as usize).unwrap_or(&nameless);
        let class = classifier.as_mut().map_or(0, |classifier| {
            let name = apps.as_ref().map_or("", |apps| apps.known[app as usize].name.as_str());
            let facts = FileFacts { path: &found.path, size: found.bytes, kind: found.kind, app: name };
            classifier.class(&Request { file, app, op: Op::Read as u8, ..Request::default() }, &facts)
        });
        Mark { group: found.group, class, app }
    }
}

/// Which process is of which application.
struct Applications {
    naming: Naming,
    known: Vec<App>,
    numbers: FxHashMap<String, u32>,
    /// By process, its application and the time of its look-up.
    processes: FxHashMap<u32, (u32, u64)>,
}

impl Applications {
    /// Those of which the spec speaks come first.
    fn new(spec: &PolicySpec, naming: Naming) -> Applications {
        let (known, numbers, processes) = Default::default();
        let mut apps = Applications { naming, known, numbers, processes };
        spec.apps().into_iter().for_each(|name| _ = apps.number(name));
        apps
    }

    fn of(&mut self, process: u32, at: u64) -> u32 {
        let before = self.processes.get(&process).copied();
        if let Some((app, _)) = before.filter(|(_, since)| at.saturating_sub(*since) < FRESH) {
            return app;
        }
        let name = (process != 0).then(|| (self.naming)(process)).flatten();
        let app = match (name, before) {
            (Some(name), _) => self.number(&name),
            // It has ended, and its events are from before.
            (None, Some((app, _))) => app,
            (None, None) => self.number(UNKNOWN),
        };
        if self.processes.len() >= PROCESSES {
            self.processes.clear();
        }
        self.processes.insert(process, (app, at));
        app
    }

    fn number(&mut self, name: &str) -> u32 {
        // A spec spells a name in fewer signs.
        let found = self.numbers.get(name).or_else(|| self.numbers.get(&App::spelt(name)));
        if let Some(&number) = found {
            return number;
        }
        let name = if self.known.len() >= MOST { OTHERS } else { name };
        let next = self.known.len() as u32;
        let number = *self.numbers.entry(name.to_owned()).or_insert(next);
        if number == next {
            self.known.push(App::from(name));
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use hotset_core::classify::{Rule, Rules};

    use super::*;

    fn marks(policy: &str, rules: Vec<Rule>, naming: Option<Naming>) -> Marks {
        let rules = (!rules.is_empty()).then(|| Rules::new(rules).unwrap());
        Marks::new(&PolicySpec::parse(policy).unwrap(), &View { rules, ..View::default() }, naming)
    }

    #[test]
    fn a_process_is_asked_for_its_name_now_and_then_and_keeps_the_last_one() {
        let running = Arc::new(Mutex::new((0, Some("sh"))));
        let asked = running.clone();
        let naming: Naming = Box::new(move |process| {
            let mut asked = asked.lock().unwrap();
            asked.0 += 1;
            if process == 5 { asked.1.map(str::to_owned) } else { None }
        });
        let mut marks = marks("qos(cc1=80%)", Vec::new(), Some(naming));
        assert_eq!(marks.known().len(), 1);
        let name = |marks: &mut Marks, process, at| {
            let app = marks.of(0, process, at).app;
            marks.known()[app as usize].name.clone()
        };
        assert_eq!(name(&mut marks, 5, 0), "sh");
        running.lock().unwrap().1 = Some("cc1");
        assert_eq!((name(&mut marks, 5, FRESH - 1), name(&mut marks, 5, FRESH)), ("sh".into(), "cc1".into()));
        assert_eq!(marks.of(0, 5, FRESH).app, 0, "the one of which the spec speaks");
        running.lock().unwrap().1 = None;
        assert_eq!(name(&mut marks, 5, 9 * FRESH), "cc1", "it has ended");
        assert_eq!((name(&mut marks, 6, 0), name(&mut marks, 0, 0)), ("unknown".into(), "unknown".into()));
        assert_eq!(running.lock().unwrap().0, 4, "process 0 is not looked up");
    }

    #[test]
    fn there_are_bounds() {
        let naming: Naming = Box::new(|process| Some(process.to_string()));
        let mut marks = marks("qos", Vec::new(), Some(naming));
        let last = (1..=2 * MOST as u32).map(|process| marks.of(0, process, 0).app).max().unwrap();
        assert_eq!((last, marks.known().len()), (MOST as u32, MOST + 1));
        assert_eq!(marks.known()[MOST].name, OTHERS);
        assert!(marks.apps.unwrap().processes.len() <= PROCESSES);
    }

    #[test]
    fn classes_and_types_follow_from_names_and_sizes() {
        let rules = vec![
            Rule { class: "large".into(), min_size: Some(100), ..Rule::default() },
            Rule { class: "texture".into(), files: vec!["*.tx".into()], ..Rule::default() },
        ];
        let mut marks = marks("render", rules, None);
        marks.describe(1, "/a/b.tx", 99);
        marks.describe(2, "/a/c.tx", 100);
        assert_eq!([1, 2, 3].map(|file| marks.of(file, 0, 0).class), [1, 0, 2]);
        assert_eq!(marks.of(1, 0, 0).group, marks.of(2, 0, 0).group);
        assert_eq!((marks.of(1, 0, 0).group, marks.of(3, 0, 0).group), (file_group("b.tx", Kind::Datafile), 0));
        marks.describe(1, "/a/b.txt", 99);
        assert_eq!(marks.of(1, 0, 0).class, 2, "another name");
        marks.forget(2);
        assert_eq!(marks.of(2, 0, 0), Mark { class: 2, ..Mark::default() });
    }
}
