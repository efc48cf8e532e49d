//! The folders of a crate stand on floors: one uses only what stands below it, so that arrows go one way.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{ItemMod, ItemUse, UseTree};

use super::Finding;
use super::code::is_cfg_test;

/// The folders and files of a crate's `src`, each above all that it may use.
struct House {
    src: &'static str,
    floors: &'static [&'static str],
}

const HOUSES: &[House] = &[
    House {
        src: "crates/core/src/",
        floors: &[
            "words", "request", "counters", "spec", "classify", "view", "policy", "storage", "host", "parts",
            "allocate", "families", "policies", "schemes", "registry", "fuzzing",
        ],
    },
    House {
        src: "crates/cache/src/",
        floors: &[
            "sync",
            "machine",
            "error",
            "counts",
            "metadata",
            "latency",
            "division",
            "system",
            "arena",
            "block_index",
            "source",
            "buffer",
            "busy",
            "files",
            "unwritten",
            "applications",
            "recording",
            "in_flight",
            "transfers",
            "workers",
            "pace",
            "stride",
            "stream",
            "key_index",
            "leaving",
            "objects",
            "tier",
            "frames",
            "decider",
            "state",
            "shared",
            "runs",
            "read_ahead",
            "background",
            "cache",
            "write_back",
            "read",
            "write",
            "status",
        ],
    },
];

/// Every use of a folder by one that stands below it.
pub fn check(path: &str, text: &str) -> Result<Vec<Finding>> {
    let Some((house, own)) = HOUSES.iter().find_map(|house| Some((house, folder(path.strip_prefix(house.src)?))))
    else {
        return Ok(Vec::new());
    };
    let file = syn::parse_file(text).with_context(|| format!("{path} is not Rust"))?;
    let mut walk = Uses::default();
    walk.visit_file(&file);
    let floor = |name: &str| house.floors.iter().position(|known| *known == name);
    let Some(at) = floor(own) else {
        let unknown = format!("no floor is known for {own}: expected it among those of the check of arrows");
        return Ok(if own == "lib" { Vec::new() } else { vec![Finding::new(path, 0, unknown)] });
    };
    let upward = walk.found.into_iter().filter(|(_, used)| floor(used).is_some_and(|floor| floor > at));
    let told = |(line, used): (usize, String)| {
        Finding::new(path, line, format!("{own} uses {used}, which stands above it: expected arrows to go one way"))
    };
    Ok(upward.map(told).collect())
}

/// `policies` for `policies/lru.rs`, `view` for `view.rs`.
fn folder(path: &str) -> &str {
    path.split('/').next().unwrap_or(path).trim_end_matches(".rs")
}

/// The names that code outside of tests takes from `crate`, with the lines.
#[derive(Default)]
struct Uses {
    found: BTreeSet<(usize, String)>,
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !item.attrs.iter().any(is_cfg_test) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let UseTree::Path(path) = &item.tree else { return };
        if path.ident != "crate" {
            return;
        }
        let line = item.use_token.span.start().line;
        let mut add = |tree: &UseTree| match tree {
            UseTree::Path(path) => drop(self.found.insert((line, path.ident.to_string()))),
            UseTree::Name(name) => drop(self.found.insert((line, name.ident.to_string()))),
            _ => {}
        };
        match &*path.tree {
            UseTree::Group(group) => group.items.iter().for_each(add),
            tree => add(tree),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut segments = path.segments.iter().map(|segment| &segment.ident);
        if let (Some(root), Some(used)) = (segments.next(), segments.next())
            && root == "crate"
        {
            self.found.insert((root.span().start().line, used.to_string()));
        }
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        check(path, text).unwrap().into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn arrows_upward_are_found_wherever_they_stand() {
        let text = "use crate::spec::Value;\nuse crate::registry;\nuse crate::{parts, schemes::qos};\n";
        assert_eq!(lines_found("crates/core/src/policies/lru.rs", text), [2, 3]);
        assert_eq!(lines_found("crates/core/src/registry/mod.rs", text), [0; 0]);
        assert_eq!(lines_found("crates/core/src/view.rs", "fn f() {\n    crate::parts::random::new();\n}\n"), [2]);
        assert_eq!(lines_found("crates/sim/src/view.rs", "use crate::grid;"), [0; 0]);
    }

    #[test]
    fn tests_may_look_anywhere_and_every_folder_has_a_floor() {
        let text = "#[cfg(test)]\nmod tests {\n    use crate::registry;\n}\n";
        assert_eq!(lines_found("crates/core/src/spec/size.rs", text), [0; 0]);
        assert_eq!(lines_found("crates/core/src/attic/old.rs", ""), [0]);
        assert_eq!(lines_found("crates/core/src/lib.rs", "pub mod spec;"), [0; 0]);
    }
}
