//! Programs that the user works with on the terminal: `$EDITOR` and others.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use windlass_sandbox::run_on_terminal;

use super::app::App;
use super::console::QUIET;
use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;

/// The maximum size of an edited text.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// Lets the user edit a text in `$VISUAL` or `$EDITOR`, and parses it. Returns `None` if it was not changed.
///
/// If the text cannot be parsed, the user can correct it; without a terminal, the error is returned.
pub(super) async fn edit<T>(
    app: &App<'_>,
    file_name: &str,
    text: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, CliError> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join(file_name);
    File::create(&path)?.write_all(text.as_bytes())?;
    loop {
        open(&path, &app.inputs.cwd).await?;
        let edited = read(&path)?;
        if edited == text {
            return Ok(None);
        }
        let error = match parse(&edited) {
            Ok(parsed) => return Ok(Some(parsed)),
            Err(error) => error,
        };
        app.console.error(&error);
        if app.console.confirm("edit again? [y/N] ")? != Some(true) {
            return Err(CliError::usage("nothing was changed"));
        }
    }
}

/// Returns the editor that the user has set.
pub(super) fn configured() -> Option<OsString> {
    let names = ["VISUAL", "EDITOR"].into_iter();
    names
        .filter_map(std::env::var_os)
        .find(|value| !value.is_empty())
}

/// Opens files or directories in the user's editor and waits until it ends.
pub(super) async fn open(path: &Path, cwd: &Path) -> Result<(), CliError> {
    let editor = configured().unwrap_or_else(|| OsString::from("vi"));
    // The variable may have arguments, as in `code --wait`.
    let mut script = editor.clone();
    script.push(" \"$1\"");
    let args = vec![
        OsString::from("-c"),
        script,
        OsString::from("sh"),
        path.as_os_str().to_owned(),
    ];
    let editor = editor.to_string_lossy();
    match run("/bin/sh".into(), args, Vec::new(), cwd).await? {
        Some(0) => Ok(()),
        Some(127) => Err(CliError::usage(format!(
            "the editor {editor} was not found: set EDITOR"
        ))),
        _ => Err(CliError::failed(format!("the editor {editor} failed"))),
    }
}

/// Runs a program on the terminal with these variables added, and returns its exit code. Ctrl-C is for the program.
pub(super) async fn run(
    program: OsString,
    args: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    cwd: &Path,
) -> Result<Option<i32>, CliError> {
    let mut interrupts = Interrupts::listen()?;
    let name = program.to_string_lossy().into_owned();
    let running = run_on_terminal(program, args, variables, cwd);
    tokio::pin!(running);
    loop {
        tokio::select! {
            ended = &mut running => {
                let failed = |error| CliError::failed(format!("{name} cannot be started: {error}"));
                return Ok(ended.map_err(failed)?.code());
            }
            () = interrupts.next() => {}
        }
    }
}

/// Reads an edited text.
pub(super) fn read(path: &Path) -> Result<String, CliError> {
    let mut text = String::new();
    let file = File::open(path)?;
    let read = file.take(MAX_TEXT_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| CliError::usage(format!("the edited text cannot be read: {error}")))?;
    if text.len() as u64 > MAX_TEXT_BYTES {
        return Err(CliError::usage(format!(
            "the edited text has more than {} MiB",
            MAX_TEXT_BYTES >> 20
        )));
    }
    Ok(text)
}

/// Reports that an edit changed nothing.
pub(super) fn unchanged(app: &App<'_>) -> Exit {
    app.console.progress(QUIET, "not changed");
    Exit::Done
}
