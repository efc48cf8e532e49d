//! The classes of the published systems.

use std::sync::LazyLock;

use super::{Rule, Rules};
use crate::request::Kind;

/// Classes of the attribute caches (Richardson, WRL; POLICIES 1.2): `inode`, `directory`, `large` (files of at least
/// `cutoff` bytes), `executable`, `datafile`.
pub fn attribute(cutoff: u64) -> Rules {
    let kind = |class: &str, kind| Rule { class: class.into(), kinds: vec![kind], ..Rule::default() };
    checked(vec![
        kind("inode", Kind::Inode),
        kind("directory", Kind::Directory),
        Rule { class: "large".into(), min_size: Some(cutoff), ..Rule::default() },
        kind("executable", Kind::Executable),
        Rule { class: "datafile".into(), ..Rule::default() },
    ])
}

/// Classes of the rendering buffer cache (Shin, Cho, Bahn 2020): `output`, a file from its first write on; `config`,
/// files that are read once per launch, such as scene files and libraries; `texture`, everything else that is read.
pub fn render() -> Rules {
    static RULES: LazyLock<Rules> = LazyLock::new(|| checked(render_rules()));
    RULES.clone()
}

fn render_rules() -> Vec<Rule> {
    vec![
        Rule { class: "output".into(), writes: Some(true), sticks: true, ..Rule::default() },
        Rule { class: "config".into(), files: CONFIG_FILES.map(str::to_owned).to_vec(), ..Rule::default() },
        Rule { class: "texture".into(), ..Rule::default() },
    ]
}

/// Read once per launch: programs and their settings, and the scenes.
const CONFIG_FILES: [&str; 23] = [
    "*.py", "*.pyc", "*.so", "*.so.*", "*.conf", "*.cfg", "*.ini", "*.json", "*.xml", "*.ttf", "*.pak", "*.dat",
    "*.cube", "*.spi1d", "*.spi3d", "*.blend", "*.abc", "*.obj", "*.fbx", "*.usd", "*.usda", "*.usdc", "*.mtl",
];

/// The built-in rules, those with a parameter at its default.
fn all() -> [Rules; 2] {
    static ATTRIBUTE: LazyLock<Rules> = LazyLock::new(|| attribute(DEFAULT_CUTOFF));
    [render(), ATTRIBUTE.clone()]
}

/// The built-in rules that know a class of this name: where a spec names one without saying whose it is.
pub fn knowing(class: &str) -> Option<Rules> {
    all().into_iter().find(|rules| rules.class(class).is_some())
}

/// The names of all classes that [`knowing`] finds.
pub fn class_names() -> Vec<String> {
    let mut names = all().map(|rules| rules.classes().to_vec()).concat();
    names.sort_unstable();
    names.dedup();
    names
}

/// Bytes from which on a file counts as large (WRL report: 512 KB).
pub const DEFAULT_CUTOFF: u64 = 512 << 10;

fn checked(rules: Vec<Rule>) -> Rules {
    Rules::new(rules).expect("the built-in patterns can be read")
}

#[cfg(test)]
mod tests {
    use super::super::{Classifier, FileFacts};
    use super::*;
    use crate::request::{Op, Request};

    fn class_of(rules: Rules, path: &str, kind: Kind, size: u64, op: Op) -> String {
        let mut classifier = Classifier::new(rules);
        let facts = FileFacts { path, kind, size: Some(size), app: "" };
        let class = classifier.class(&Request { op: op as u8, ..Request::default() }, &facts);
        classifier.rules().classes()[class as usize].clone()
    }

    #[test]
    fn attribute_classes_go_by_kind_and_size() {
        let class = |kind, size| class_of(attribute(DEFAULT_CUTOFF), "/f", kind, size, Op::Read);
        assert_eq!(class(Kind::Inode, 1 << 30), "inode");
        assert_eq!(class(Kind::Directory, 4096), "directory");
        assert_eq!(class(Kind::Datafile, (512 << 10) - 1), "datafile");
        assert_eq!(class(Kind::Datafile, 512 << 10), "large");
        assert_eq!(class(Kind::Executable, 512 << 10), "large");
        assert_eq!(class(Kind::Executable, 1), "executable");
        assert_eq!(class(Kind::Unknown, 1), "datafile");
    }

    #[test]
    fn render_classes_go_by_name_and_writes() {
        let class = |path, op| class_of(render(), path, Kind::Datafile, 1, op);
        assert_eq!(class("/usr/lib/libm.so.6", Op::Map), "config");
        assert_eq!(class("/home/me/scene.blend", Op::Read), "config");
        assert_eq!(class("/opt/luts/film.spi3d", Op::Read), "config");
        assert_eq!(class("/home/me/wood.JPG", Op::Read), "texture");
        assert_eq!(class("/tmp/frame0001.png", Op::Write), "output");
    }

    #[test]
    fn a_bare_class_name_is_found() {
        assert!(knowing("output").is_some_and(|rules| rules.class("texture").is_some()));
        assert!(knowing("inode").is_some());
        assert!(knowing("nonsense").is_none());
    }
}
