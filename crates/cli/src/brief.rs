//! The short help: `-h` shows the options that most users need, `--help` shows all.

use clap::Command;

/// Options of each subcommand that `-h` shows. A subcommand that is not listed shows all.
const SHOWN: [(&str, &[&str]); 8] = [
    ("advise", &["size", "store", "app", "report", "json"]),
    ("curve", &["policy", "sample", "points", "block", "maps", "app", "ops", "csv", "report"]),
    ("import", &["output", "format", "columns", "app", "ops"]),
    ("inspect", &["by", "top", "block", "app", "file", "report", "json"]),
    ("mount", &["memory", "policy", "block", "staleness", "writable", "listen", "ssd"]),
    ("record", &["output", "via", "pid", "service", "for", "memory"]),
    ("simulate", &["policy", "size", "block", "app", "ops", "warmup", "store", "csv", "json", "report"]),
    ("steer", &["policy", "cgroup", "memory", "prove", "always", "json"]),
];

const MORE: &str = "Use --help for all options.";

/// Hides the other options of each listed subcommand in its short help.
pub(crate) fn shorten(command: Command) -> Command {
    SHOWN.iter().fold(command, |command, (name, shown)| {
        command.mut_subcommand(name, |subcommand| {
            let examples = subcommand.get_after_help().map(ToString::to_string).unwrap_or_default();
            subcommand
                .mut_args(|argument| {
                    let is_shown =
                        argument.is_positional() || argument.get_long().is_some_and(|long| shown.contains(&long));
                    argument.hide_short_help(!is_shown)
                })
                .after_help(MORE)
                .after_long_help(examples)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a terminal that a short help may take.
    const SCREEN: usize = 40;

    #[test]
    fn short_help_fits_a_screen_and_names_options_that_exist() {
        for (name, shown) in SHOWN {
            let mut command = crate::command();
            let subcommand = command.find_subcommand_mut(name).unwrap();
            for long in shown {
                assert!(subcommand.get_arguments().any(|argument| argument.get_long() == Some(long)), "{name} {long}");
            }
            let help = subcommand.render_help().to_string();
            assert!(help.lines().count() <= SCREEN, "{name}: {} lines\n{help}", help.lines().count());
            assert!(subcommand.render_long_help().to_string().contains("Examples:"), "{name}");
        }
    }
}
