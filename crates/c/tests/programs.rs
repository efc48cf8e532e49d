//! Programs in C on the library, built by the system's compiler, and the header against the source.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use hotset_testkit::inputs::skip;
use syn::{FnArg, Item, Pat};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// The interface installed in a fresh folder, as `make c` installs it.
struct Installed {
    folder: tempfile::TempDir,
}

impl Installed {
    /// Installs the library. `None`, after [`skip`], without a compiler.
    fn new() -> Option<Installed> {
        let has_compiler = Command::new("cc").arg("--version").output().is_ok_and(|run| run.status.success());
        if !has_compiler {
            skip("there is no C compiler `cc`");
            return None;
        }
        let installed = Installed { folder: tempfile::tempdir().unwrap() };
        for folder in ["include", "lib", "lib/pkgconfig"] {
            fs::create_dir(installed.path(folder)).unwrap();
        }
        let built = env::current_exe().unwrap().parent().unwrap().to_owned();
        for (from, to) in [("so", "libhotset.so.0"), ("so", "libhotset.so"), ("a", "libhotset.a")] {
            symlink(built.join(format!("libhotset_c.{from}")), installed.path("lib").join(to)).unwrap();
        }
        fs::copy(Path::new(HERE).join("include/hotset.h"), installed.path("include/hotset.h")).unwrap();
        let template = fs::read_to_string(Path::new(HERE).join("hotset.pc.in")).unwrap();
        let prefix = installed.folder.path().to_str().unwrap();
        let pc = template.replace("@PREFIX@", prefix).replace("@VERSION@", env!("CARGO_PKG_VERSION"));
        fs::write(installed.path("lib/pkgconfig/hotset.pc"), pc).unwrap();
        Some(installed)
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// Compiles a program with these arguments of the linker and returns its output.
    fn run(&self, source: &str, link: &[&str]) -> String {
        let program = self.path("program");
        let include = format!("-I{}", self.path("include").display());
        let strict = ["-std=c99", "-D_GNU_SOURCE", "-pedantic", "-Wall", "-Wextra", "-Werror", "-g", "-o"];
        let mut compiler = Command::new("cc");
        compiler.args(strict).arg(&program).arg(include).arg(Path::new(HERE).join(source)).args(link);
        let compiled = compiler.output().unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let run = Command::new(&program).env("LD_LIBRARY_PATH", self.path("lib")).output().unwrap();
        assert!(run.status.success(), "{source}: {}\n{}", run.status, String::from_utf8_lossy(&run.stderr));
        String::from_utf8(run.stdout).unwrap()
    }
}

#[test]
fn the_example_runs_with_the_shared_library() {
    let Some(installed) = Installed::new() else { return };
    let folder = format!("-L{}", installed.path("lib").display());
    let printed = installed.run("examples/cache.c", &[&folder, "-lhotset"]);
    assert_eq!(printed, "line 999\nline 999\nline 999\n2000 hits, 1000 misses\n");
}

#[test]
fn every_function_and_error_is_exercised_by_threads() {
    let Some(installed) = Installed::new() else { return };
    let library = installed.path("lib/libhotset.a");
    let printed = installed.run("tests/exercise.c", &[library.to_str().unwrap(), "-lpthread", "-ldl", "-lm"]);
    assert!(printed.starts_with(env!("CARGO_PKG_VERSION")), "{printed}");
}

#[test]
fn pkg_config_names_the_library() {
    let Some(installed) = Installed::new() else { return };
    let mut program = Command::new("pkg-config");
    program.args(["--cflags", "--libs", "hotset"]).env("PKG_CONFIG_PATH", installed.path("lib/pkgconfig"));
    let Ok(answer) = program.output() else { return skip("there is no pkg-config") };
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    let answer = String::from_utf8(answer.stdout).unwrap();
    let flags: Vec<&str> = answer.split_whitespace().collect();
    assert_eq!(flags[2..], ["-lhotset"], "{answer}");
    installed.run("examples/cache.c", &flags);
}

/// The functions of the source: name, then arguments.
fn exported() -> Vec<Vec<String>> {
    let mut functions = Vec::new();
    for file in ["lib.rs", "error.rs", "value.rs"] {
        let text = fs::read_to_string(Path::new(HERE).join("src").join(file)).unwrap();
        for item in syn::parse_file(&text).unwrap().items {
            let Item::Fn(function) = item else { continue };
            if function.sig.abi.is_none() {
                continue;
            }
            let mut words = vec![function.sig.ident.to_string()];
            for input in &function.sig.inputs {
                let FnArg::Typed(argument) = input else { panic!("a function of C has no self") };
                let Pat::Ident(name) = &*argument.pat else { panic!("{words:?}: expected names of arguments") };
                words.push(name.ident.to_string());
            }
            functions.push(words);
        }
    }
    functions.sort();
    functions
}

/// The functions of the header: name, then arguments.
fn declared(header: &str) -> Vec<Vec<String>> {
    let mut text = String::new();
    let mut rest = header;
    while let Some((code, comment)) = rest.split_once("/*") {
        text.push_str(code);
        rest = comment.split_once("*/").unwrap().1;
    }
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let last_word = |text: &str| text.trim().rsplit(|character| !is_word(character)).next().unwrap().to_owned();
    let declarations = text.split(';').filter(|part| part.trim_end().ends_with(')') && !part.contains("(*"));
    let mut functions: Vec<Vec<String>> = declarations
        .map(|declaration| {
            let (name, arguments) = declaration.split_once('(').unwrap();
            let arguments = arguments.trim_end().trim_end_matches(')').split(',').map(last_word);
            let named = arguments.filter(|argument| argument != "void");
            [last_word(name)].into_iter().chain(named).collect()
        })
        .collect();
    functions.sort();
    functions
}

#[test]
fn the_header_and_the_manual_have_every_function() {
    let header = fs::read_to_string(Path::new(HERE).join("include/hotset.h")).unwrap();
    let exported = exported();
    assert_eq!(declared(&header), exported);
    let manual = fs::read_to_string(Path::new(HERE).join("man/libhotset.3")).unwrap();
    for function in &exported {
        let signature = manual.split_once(&format!("{}(", function[0])).expect(&function[0]).1;
        let signature = signature.split_once(");").expect(&function[0]).0;
        assert!(function[1..].iter().all(|argument| signature.contains(argument)), "{function:?}: {signature}");
    }
}
