//! `tidings completions`: what a shell needs to complete commands and options.

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::Exit;

#[derive(Args)]
pub(crate) struct CompletionsOptions {
    /// The shell
    #[arg(value_enum)]
    shell: CompletionShell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CompletionShell {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(options: &CompletionsOptions) -> Exit {
    let shell = match options.shell {
        CompletionShell::Bash => Shell::Bash,
        CompletionShell::Zsh => Shell::Zsh,
        CompletionShell::Fish => Shell::Fish,
    };
    clap_complete::generate(
        shell,
        &mut Cli::command(),
        "tidings",
        &mut std::io::stdout(),
    );
    Exit::Done
}
