//! Ruby: bundler.

use super::project_dir::ProjectDir;
use super::proposal::{Detected, argv, shell};

/// Installs into the checkout; the file `.bundle/config` names the directory to later commands.
const SETUP: &str = "bundle config set --local path vendor/bundle && bundle install --quiet";

pub(super) fn detect(dir: &ProjectDir) -> Option<Detected> {
    if !dir.has("Gemfile") {
        return None;
    }
    let has_specs = dir.has(".rspec") || dir.any_file("spec", |name| name.ends_with("_spec.rb"));
    let command = match dir.first(&["Rakefile", "rakefile", "Rakefile.rb"]) {
        _ if has_specs => "bundle exec rspec",
        Some(_) => "bundle exec rake test",
        None => return None,
    };
    Some(Detected::new(argv(command), Some(shell(SETUP))))
}
