//! SQLite itself with the library: the same statements with and without it give the same answers, and every database
//! is whole afterwards. Needs a `sqlite3` that loads its library at run time.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hotset_core::random::Rng;
use hotset_testkit::inputs::skip;

const POLICIES: [&str; 6] = ["lru", "lirs", "s3-fifo", "arc", "auto", "seq"];

fn library() -> PathBuf {
    env::current_exe().unwrap().parent().unwrap().join("libhotset_sqlite.so")
}

/// A program under a policy; without one, as it is.
fn with_policy(program: &str, policy: Option<&str>, counts: &Path) -> Command {
    let mut command = Command::new(program);
    if let Some(policy) = policy {
        command.env("LD_PRELOAD", library()).env("HOTSET_SQLITE_POLICY", policy).env("HOTSET_SQLITE_COUNTS", counts);
    }
    command
}

/// Runs statements in the shell of SQLite in a folder of their own. Returns what it prints, errors included, and true
/// if the library's caches had hits and misses.
fn run(sql: &str, policy: Option<&str>) -> (String, bool) {
    let folder = tempfile::tempdir().unwrap();
    let counts = folder.path().join("counts");
    let script = folder.path().join("script.sql");
    fs::write(&script, sql).unwrap();
    let mut shell = with_policy("sqlite3", policy, &counts);
    shell.arg("one.db").current_dir(folder.path()).stdin(fs::File::open(script).unwrap());
    let done = shell.output().unwrap();
    let printed = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    let counts = fs::read_to_string(counts).unwrap_or_default();
    (printed, counts.contains("hits") && !counts.contains("\"hits\":0,"))
}

/// True if there is a shell of SQLite that loads SQLite at run time.
fn has_shell() -> bool {
    let found = Command::new("sqlite3").arg("-version").stdout(Stdio::null()).status().is_ok_and(|s| s.success());
    let can_serve = found && run("create table t(a); insert into t values(1); select * from t;", Some("lru")).1;
    if !can_serve {
        skip("there is no sqlite3 that loads libsqlite3 at run time");
    }
    can_serve
}

/// Statements that use the page cache in every way, with small caches.
fn script(seed: u64) -> String {
    let mut random = Rng::new(seed);
    let mut sql = String::new();
    let mut below = |most: u32| random.below(most);
    let page = [512, 1024, 4096][below(3) as usize];
    let mode = ["delete", "wal", "truncate", "memory", "persist"][below(5) as usize];
    let vacuum = ["none", "incremental", "full"][below(3) as usize];
    for base in ["main", "two", "mem"] {
        match base {
            "two" => sql.push_str("attach 'two.db' as two;\n"),
            "mem" => sql.push_str("attach ':memory:' as mem;\n"),
            _ => {}
        }
        let size = [1, 2, 5, 20, 100][below(5) as usize];
        let _ = write!(
            sql,
            "pragma {base}.synchronous=off; pragma {base}.page_size={page}; pragma {base}.auto_vacuum={vacuum}; pragma {base}.journal_mode={mode};
             pragma {base}.cache_size={size};
             create table {base}.t(a integer primary key, b text, c int); create index {base}.i on t(c, b);\n"
        );
    }
    let _ = writeln!(sql, "pragma cache_spill={};", ["on", "off"][below(2) as usize]);
    for _ in 0..120 {
        let base = ["main", "main", "two", "mem"][below(4) as usize];
        let (key, other) = (below(900), below(50) + 1);
        let one = match below(22) {
            0..6 => format!(
                "with recursive n(x) as (select {key} union all select x+1 from n where x<{key}+{other}) \
                 insert or replace into {base}.t select x, printf('%0*d', (x*7)%300+1, x), x%{other} from n;"
            ),
            6..8 => format!("update {base}.t set b=b||'{key}', c=c+1 where c={other};"),
            8..10 => format!("delete from {base}.t where a between {key} and {key}+{other}*3;"),
            10 => format!("select count(*), sum(length(b)), sum(a*c) from {base}.t;"),
            11 => format!("select a, length(b) from {base}.t where c={other} order by b, a limit 20;"),
            12 => format!(
                "select x.a, y.a from {base}.t x join main.t y on x.c=y.c where x.a%{other}=0 order by 1, 2 limit 30;"
            ),
            13 => "begin;".to_owned(),
            14 => "rollback;".to_owned(),
            15 => "commit;".to_owned(),
            16 => format!("savepoint s{};", below(3)),
            17 => format!("rollback to s{};", below(3)),
            18 => format!("release s{};", below(3)),
            19 => format!("pragma {base}.incremental_vacuum({other});"),
            20 => ["vacuum;", "vacuum two;", "pragma shrink_memory;", "reindex;"][below(4) as usize].to_owned(),
            _ => format!("pragma {base}.cache_size={};", [0, 3, 10, 50][below(4) as usize]),
        };
        let _ = writeln!(sql, "{one}");
    }
    sql.push_str("rollback;\n");
    for base in ["main", "two", "mem"] {
        let _ =
            writeln!(sql, "pragma {base}.integrity_check; select a, c, length(b), hex(substr(b, 1, 9)) from {base}.t;");
    }
    // Other connections, which must see what this one has written.
    sql.push_str("attach 'two.db' as again;\nselect count(*), sum(a) from again.t;\n.open one.db\n");
    sql.push_str("pragma integrity_check; select count(*), sum(a), sum(length(b)) from t;\n");
    sql
}

#[test]
fn random_statements_give_the_same_answers() {
    if !has_shell() {
        return;
    }
    for seed in 0..60 {
        let sql = script(seed);
        let (expected, _) = run(&sql, None);
        assert!(expected.matches("ok\n").count() >= 3, "seed {seed}: {expected}");
        let policy = POLICIES[seed as usize % POLICIES.len()];
        let (found, is_served) = run(&sql, Some(policy));
        assert!(is_served, "seed {seed}: the library has counted nothing");
        assert!(found == expected, "seed {seed} under {policy}:\n{found}\nexpected\n{expected}");
    }
}

#[test]
fn a_policy_that_cannot_run_leaves_sqlites_own_cache() {
    if !has_shell() {
        return;
    }
    for (policy, reason) in [("lrux", "unknown policy"), ("opt", "must know the future"), ("unix", "kinds of files")] {
        let (printed, is_served) = run("create table t(a); insert into t values(41); select a+1 from t;", Some(policy));
        assert!(printed.starts_with("42\n") && printed.contains(reason) && !is_served, "{printed}");
        assert!(printed.trim_end().ends_with("SQLite keeps its own cache"), "{printed}");
    }
}

/// The policy decides: a loop over more pages than the cache has hits with LIRS, and never with LRU.
#[test]
fn a_loop_hits_under_lirs() {
    if !has_shell() {
        return;
    }
    let mut sql = "create table t(a integer primary key, b blob);
with recursive n(x) as (select 1 union all select x+1 from n where x<2000) insert into t select x, zeroblob(3000) from n;
.open one.db
pragma cache_size=1000;
.stats on
"
    .to_owned();
    (0..10).for_each(|_| sql.push_str("select sum(length(b)) from t;\n"));
    let last_hits = |policy| {
        let (printed, _) = run(&sql, policy);
        let line = printed.lines().rfind(|line| line.starts_with("Page cache hits:")).unwrap();
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let [own, lru, lirs] = [None, Some("lru"), Some("lirs")].map(last_hits);
    assert!(own < 10 && lru < 10, "{own} {lru}");
    assert!((980..1000).contains(&lirs), "{lirs}");
}

/// Python brings SQLite after the program has begun. Its tests are those of its module.
#[test]
fn the_tests_of_pythons_module_pass() {
    let folder = tempfile::tempdir().unwrap();
    let counts = folder.path().join("counts");
    let python = |policy, code: &[&str]| {
        let mut python = with_policy("python3", policy, &counts);
        python.args(code).current_dir(folder.path()).output()
    };
    let has_suite = python(None, &["-c", "import sqlite3, test.test_sqlite3"]).is_ok_and(|run| run.status.success());
    if !has_suite {
        return skip("there is no python3 with its own tests (test.test_sqlite3)");
    }
    let first = ["-c", "import sqlite3; print(sqlite3.connect('x.db').execute('create table t(a)').fetchall())"];
    assert_eq!(python(Some("lirs"), &first).unwrap().stdout, b"[]\n");
    if !fs::read_to_string(&counts).is_ok_and(|counts| counts.contains("misses")) {
        return skip("this Python contains its SQLite");
    }
    for policy in ["lirs", "s3-fifo"] {
        let done = python(Some(policy), &["-m", "test", "test_sqlite3"]).unwrap();
        assert!(done.status.success(), "{policy}: {}", String::from_utf8_lossy(&done.stdout));
    }
}
