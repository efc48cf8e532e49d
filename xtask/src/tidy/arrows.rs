//! The top-level folders and files of a crate's `src` use each other in one direction: no circles. Code of tests is
//! left out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, ImplItemFn, Item, ItemMod, ItemUse, Macro, UseTree, Visibility};

use super::Finding;
use super::code::is_cfg_test;
use xtask::SourceFile;

/// The folders of the core, each above all that it may use: cutting, scoring and allocating do not know policies.
/// The root has only macros, which all may use.
const CORE: [&str; 18] = [
    "lib", "setting", "words", "random", "request", "counters", "spec", "classify", "view", "policy", "storage",
    "host", "parts", "allocate", "families", "policies", "schemes", "registry",
];

/// The uses of other folders and files by one crate: by user and used, the first place.
type Arrows<'a> = BTreeMap<&'a str, BTreeMap<&'a str, (&'a str, usize)>>;

/// Every circle of a crate, and every use of a folder of the core by one that stands below it.
pub fn check(files: &[SourceFile]) -> Result<Vec<Finding>> {
    let mut crates: BTreeMap<&str, Vec<Source>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let inside = file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
        if let Some((name, inside)) = inside
            && inside != "main.rs"
        {
            crates.entry(name).or_default().push(Source::read(&file.path, inside, file.text())?);
        }
    }
    let mut findings = Vec::new();
    for (name, sources) in &crates {
        let arrows = arrows(sources);
        findings.extend(circles(&arrows).iter().map(|circle| describe(circle, &arrows)));
        if *name == "core" {
            findings.extend(upward(&arrows));
        }
    }
    Ok(findings)
}

/// One file of a crate.
struct Source<'a> {
    path: &'a str,
    /// Its modules below the root of the crate; none for `lib.rs`.
    modules: Vec<String>,
    walk: Uses,
}

impl<'a> Source<'a> {
    fn read(path: &'a str, inside: &str, text: &str) -> Result<Source<'a>> {
        let file = syn::parse_file(text).with_context(|| format!("{path} is not Rust"))?;
        let modules: Vec<String> = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        let is_root = |name: &String| name == "lib" || name == "mod";
        let modules = if modules.last().is_some_and(is_root) { modules[..modules.len() - 1].to_vec() } else { modules };
        let mut walk = Uses { module: modules.clone(), ..Uses::default() };
        walk.visit_file(&file);
        Ok(Source { path, modules, walk })
    }

    /// The folder or file at the top that it is part of.
    fn top(&self) -> &str {
        self.modules.first().map_or("lib", String::as_str)
    }
}

fn arrows<'a>(sources: &'a [Source]) -> Arrows<'a> {
    let tests: BTreeSet<&[String]> = sources.iter().flat_map(|source| &source.walk.tests).map(Vec::as_slice).collect();
    let tops: BTreeSet<&str> = sources.iter().map(Source::top).collect();
    let roots = sources.iter().filter(|source| source.modules.is_empty());
    let exports: BTreeMap<&str, &str> =
        roots.flat_map(|root| &root.walk.exports).map(|(name, from)| (name.as_str(), from.as_str())).collect();
    let mut arrows = Arrows::new();
    for source in sources {
        if (1..=source.modules.len()).any(|len| tests.contains(&source.modules[..len])) {
            continue;
        }
        for (line, name) in &source.walk.found {
            // A name that the root defines belongs to lib.rs. A name from another crate belongs to no file.
            let used = match exports.get(name.as_str()) {
                _ if tops.contains(name.as_str()) => name.as_str(),
                Some(from) if tops.contains(from) => from,
                Some(_) => continue,
                None if source.modules.is_empty() => continue,
                None => "lib",
            };
            if used != source.top() {
                arrows.entry(source.top()).or_default().entry(used).or_insert((source.path, *line));
            }
        }
    }
    arrows
}

/// The shortest circle through each folder or file that is on one and on none of those before it.
fn circles<'a>(arrows: &Arrows<'a>) -> Vec<Vec<&'a str>> {
    let mut circles: Vec<Vec<&str>> = Vec::new();
    for start in arrows.keys() {
        if !circles.iter().any(|circle| circle.contains(start))
            && let Some(circle) = circle(arrows, start)
        {
            circles.push(circle);
        }
    }
    circles
}

fn circle<'a>(arrows: &Arrows<'a>, start: &'a str) -> Option<Vec<&'a str>> {
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    let mut next = VecDeque::from([start]);
    while let Some(at) = next.pop_front() {
        for used in arrows.get(at).into_iter().flat_map(BTreeMap::keys) {
            if *used == start {
                let mut circle = vec![at];
                while let Some(user) = before.get(circle[circle.len() - 1]) {
                    circle.push(user);
                }
                circle.reverse();
                return Some(circle);
            }
            if !before.contains_key(used) {
                before.insert(used, at);
                next.push_back(used);
            }
        }
    }
    None
}

fn describe(circle: &[&str], arrows: &Arrows) -> Finding {
    let users = circle.iter().zip(circle.iter().cycle().skip(1));
    let steps: Vec<(&str, &str, &(&str, usize))> =
        users.map(|(user, used)| (*user, *used, &arrows[user][used])).collect();
    let names: Vec<String> =
        steps.iter().map(|(user, used, (path, line))| format!("{user} -> {used} ({path}:{line})")).collect();
    let (_, _, (path, line)) = steps[0];
    Finding::new(path, *line, format!("a circle: {}; expected uses to go one way", names.join(", ")))
}

/// The uses in the core that go against its order.
fn upward(arrows: &Arrows) -> Vec<Finding> {
    let floor = |name: &str| CORE.iter().position(|known| *known == name);
    let mut findings = Vec::new();
    for (user, uses) in arrows {
        for (used, (path, line)) in uses {
            let message = match (floor(user), floor(used)) {
                (Some(user), Some(used)) if user > used => continue,
                (Some(_), Some(_)) => format!("{user} uses {used}, which stands above it: expected uses to go one way"),
                (Some(_), None) => format!("{used} has no place in the order of the core: expected it in `CORE`"),
                (None, _) => format!("{user} has no place in the order of the core: expected it in `CORE`"),
            };
            findings.push(Finding::new(path, *line, message));
        }
    }
    findings
}

/// The names at the root of the crate that code outside of tests uses, with the lines.
#[derive(Default)]
struct Uses {
    /// The module that is walked, below the root.
    module: Vec<String>,
    found: BTreeSet<(usize, String)>,
    /// The modules that are compiled for tests only.
    tests: Vec<Vec<String>>,
    /// The names that `use` brings into the root, with the modules or crates that they are from.
    exports: Vec<(String, String)>,
}

impl Uses {
    /// A path that is used on this line; paths into folders below this module and into other crates are not counted.
    fn add(&mut self, line: usize, path: &[&Ident]) {
        let mut names = path.iter().map(|name| name.to_string()).peekable();
        let mut depth = self.module.len();
        if names.next_if(|name| name == "crate").is_some() {
            depth = 0;
        } else {
            let supers = std::iter::from_fn(|| names.next_if(|name| name == "super")).count();
            if supers == 0 && depth > 0 {
                return;
            }
            depth = depth.saturating_sub(supers);
        }
        let name = names.next().filter(|name| !matches!(name.as_str(), "self" | "Self" | "super" | "*"));
        if depth == 0
            && let Some(name) = name
        {
            self.found.insert((line, name));
        }
    }

    fn tree<'ast>(&mut self, line: usize, is_export: bool, tree: &'ast UseTree, path: &mut Vec<&'ast Ident>) {
        match tree {
            UseTree::Path(step) => {
                path.push(&step.ident);
                self.tree(line, is_export, &step.tree, path);
                path.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(line, is_export, tree, path)),
            UseTree::Name(_) | UseTree::Rename(_) | UseTree::Glob(_) => {
                let (own, name) = match tree {
                    UseTree::Name(name) => (Some(&name.ident), Some(&name.ident)),
                    UseTree::Rename(name) => (Some(&name.ident), Some(&name.rename)),
                    _ => (None, None),
                };
                if self.module.is_empty()
                    && let (Some(name), Some(from)) = (name, path.iter().find(|step| **step != "crate"))
                {
                    self.exports.push((name.to_string(), from.to_string()));
                }
                if !is_export {
                    path.extend(own);
                    self.add(line, path);
                    path.truncate(path.len() - usize::from(own.is_some()));
                }
            }
        }
    }

    /// Paths in the arguments of a macro, which are not parsed.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<Ident> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) if colons == 2 || path.is_empty() => path.push(name),
                TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                    continue;
                }
                other => {
                    self.flush(&mut path);
                    match other {
                        TokenTree::Ident(name) => path.push(name),
                        TokenTree::Group(group) => self.tokens(group.stream()),
                        _ => {}
                    }
                }
            }
            colons = 0;
        }
        self.flush(&mut path);
    }

    fn flush(&mut self, path: &mut Vec<Ident>) {
        if let [first, _, ..] = &path[..] {
            self.add(first.span().start().line, &path.iter().collect::<Vec<_>>());
        }
        path.clear();
    }
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => &[],
        };
        if !attributes.iter().any(is_cfg_test) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !item.attrs.iter().any(is_cfg_test) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.module.push(item.ident.to_string());
        if item.attrs.iter().any(is_cfg_test) {
            self.tests.push(self.module.clone());
        } else {
            visit::visit_item_mod(self, item);
        }
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_export = self.module.is_empty() && !matches!(item.vis, Visibility::Inherited);
        self.tree(item.use_token.span.start().line, is_export, &item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<&Ident> = path.segments.iter().map(|segment| &segment.ident).collect();
        if names.len() > 1 {
            self.add(names[0].span().start().line, &names);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.tokens(call.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| SourceFile {
            path: format!("crates/{path}"),
            bytes: text.as_bytes().to_vec(),
        };
        let files: Vec<SourceFile> = files.iter().map(file).collect();
        check(&files).unwrap().into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_circle_names_each_of_its_uses() {
        let files = [
            ("sim/src/lib.rs", "mod grid;\nmod curve;\nmod clock;\npub use clock::Clock;\n"),
            ("sim/src/grid.rs", "use crate::curve::Curve;\n"),
            ("sim/src/curve/mod.rs", "fn f() {\n    debug_assert!(g(&crate::Clock::new()));\n}\n"),
            ("sim/src/clock/replay.rs", "use super::super::grid;\n"),
            ("feed/src/clock.rs", "use crate::curve::Curve;\n"),
        ];
        let expected = "a circle: clock -> grid (crates/sim/src/clock/replay.rs:1), \
                        grid -> curve (crates/sim/src/grid.rs:1), curve -> clock (crates/sim/src/curve/mod.rs:2); \
                        expected uses to go one way";
        assert_eq!(messages(&files), [expected]);
        assert_eq!(messages(&files[1..4]), [expected; 0], "a name of the root is not known without it");
    }

    #[test]
    fn what_lib_defines_is_part_of_a_circle_and_what_it_passes_on_is_not() {
        let offer = ("feed/src/offer.rs", "use crate::Kind;\n");
        let passes = ("feed/src/lib.rs", "mod offer;\npub use offer::Offer;\npub use std::io::Error as Kind;\n");
        assert_eq!(messages(&[passes, offer]).len(), 0);
        let uses = ("feed/src/lib.rs", "mod offer;\nuse offer::Offer;\npub struct Kind(Offer);\n");
        assert_eq!(messages(&[uses, offer]).len(), 1);
    }

    #[test]
    fn tests_may_use_everything() {
        let files = [
            ("sim/src/lib.rs", "mod a;\nmod b;\n"),
            ("sim/src/a.rs", "use crate::b;\n#[cfg(test)]\nuse crate::c;\n"),
            ("sim/src/b/mod.rs", "#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod more {\n    use crate::a;\n}\n"),
            ("sim/src/b/tests.rs", "use crate::a;\n"),
        ];
        assert_eq!(messages(&files).len(), 0);
    }

    #[test]
    fn the_core_has_an_order() {
        let others = ["spec", "registry", "parts", "schemes", "attic"].map(|name| format!("core/src/{name}.rs"));
        let found = |text: &str| {
            let others = others.iter().map(|path| (path.as_str(), ""));
            messages(&others.chain([("core/src/view/viewer.rs", text)]).collect::<Vec<_>>()).len()
        };
        assert_eq!(found("use crate::spec::Value;\n"), 0);
        assert_eq!(found("use crate::registry;\nuse crate::{parts, schemes::qos};\n"), 3);
        assert_eq!(found("use crate::attic::Old;\n"), 1);
    }
}
