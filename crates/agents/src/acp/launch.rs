//! From a wish to a process behind walls: program, places, keys, files.

use std::io::Read;
use std::path::{Path, PathBuf};

use windlass_core::limits::PROTOCOL_LINE_BYTES;
use windlass_core::{Error, ErrorCode, ExposeSecret, Result};
use windlass_sandbox::{Limits, Profile as Walls, Spec, Stdin};

use super::preset::{Outfit, Preset, Wish};
use super::program::Program;
use crate::cli::{Endpoint, launch};
use crate::{AgentContext, Settings, homes};

/// One process of an agent, before it is put behind walls.
pub(super) struct Launch<'a> {
    pub(super) preset: &'static Preset,
    pub(super) program: &'a Program,
    pub(super) context: &'a AgentContext,
    pub(super) settings: &'a Settings,
    pub(super) cwd: &'a Path,
    pub(super) model: Option<&'a str>,
    pub(super) asks: bool,
}

impl Launch<'_> {
    /// The command with its walls, its places and its keys.
    pub(super) fn spec(&self) -> Result<Spec> {
        let Self {
            preset,
            context,
            settings,
            ..
        } = *self;
        let keys = launch::keys(preset.keys, context, settings.api_key_env.as_deref())?;
        let wish = Wish {
            endpoint: settings.endpoint.as_deref().map(|url| Endpoint {
                url,
                has_key: !keys.is_empty(),
            }),
            model: self.model,
            cwd: self.cwd,
            asks: self.asks,
            walls: context.sandbox().mechanism(),
        };
        let mut outfit = Outfit::default();
        (preset.dress)(&wish, &mut outfit);
        let home = settings
            .endpoint
            .is_some()
            .then(|| context.state().join(preset.name));
        if let Some(home) = &home {
            write(home, &outfit)?;
        }
        let mut spec = Spec::new(
            &self.program.path,
            self.cwd,
            launch::allow(self.walls(home.as_deref()), settings, context),
        )
        .args(&self.program.args)
        .args(&outfit.command.args)
        .args(&settings.extra_args)
        .stdin(Stdin::Pipe)
        .limits(Limits {
            deadline: launch::LIFETIME,
            line_bytes: PROTOCOL_LINE_BYTES,
            ..Limits::default()
        });
        if let Some(home) = home.or_else(|| self.named()) {
            spec = spec.env(preset.home.variable, home);
        }
        for (name, value) in outfit.command.env {
            spec = spec.env(name, value);
        }
        for (name, key) in keys {
            spec = spec.env(name, key.expose_secret());
        }
        for (name, value) in &settings.extra_env {
            spec = spec.env(name, value);
        }
        Ok(spec)
    }

    /// Where the user has put the agent's home, if it is not in its usual place.
    fn named(&self) -> Option<PathBuf> {
        let variable = self.preset.home.variable;
        let host = self.context.sandbox().host();
        let named = host.variable(variable).filter(|_| variable != "HOME");
        named.map(PathBuf::from)
    }

    /// An agent may read the user's home and write its own; other agents' homes hold keys that are not its.
    fn walls(&self, moved: Option<&Path>) -> Walls {
        let home = self.context.sandbox().host().home().to_owned();
        let own = &self.preset.home;
        let is_own = |name: &&str| own.folders.contains(name) || own.files.contains(name);
        let mut walls = Walls::agent();
        for other in homes::all().filter(|name| !is_own(name)) {
            walls = walls.hide(home.join(other));
        }
        if let Some(moved) = moved {
            return walls.state(moved);
        }
        match self.named() {
            Some(named) => walls = walls.state(named),
            None => {
                for folder in own.folders {
                    walls = walls.state(home.join(folder));
                }
            }
        }
        for file in own.files.iter().map(|file| home.join(file)) {
            if file.exists() {
                walls = walls.write(file);
            }
        }
        walls
    }
}

/// Files that an agent wants in its home, where that home is ours.
fn write(home: &Path, outfit: &Outfit) -> Result<()> {
    for (name, text) in &outfit.files {
        let file = home.join(name);
        let folder = file.parent().unwrap_or(home);
        let written = std::fs::create_dir_all(folder).and_then(|()| match holds(&file, text) {
            true => Ok(()),
            false => std::fs::write(&file, text),
        });
        written.map_err(|error| {
            let place = file.display();
            Error::agent(
                ErrorCode::BackendError,
                format!("{place} cannot be written: {error}"),
            )
        })?;
    }
    Ok(())
}

/// Whether a file has this text and no other.
fn holds(file: &Path, text: &str) -> bool {
    let mut there = Vec::new();
    let read = std::fs::File::open(file)
        .and_then(|open| open.take(text.len() as u64 + 1).read_to_end(&mut there));
    read.is_ok() && there == text.as_bytes()
}
