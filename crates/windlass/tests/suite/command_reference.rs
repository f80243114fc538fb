//! `docs/commands.md` matches the command line.

use expect_test::expect_file;
use windlass::cli::reference;

#[test]
fn reference_is_generated_from_command_definitions() {
    expect_file!["../../../../docs/commands.md"].assert_eq(&reference::markdown());
}
