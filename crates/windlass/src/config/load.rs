//! Laying the layers over each other, later over earlier.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use secrecy::SecretString;

use super::env_file::EnvFile;
use super::setting::Settings;
use super::trust::{Standing, Store};
use super::{
    Config, Error, Inputs, Key, Kind, Layer, Notice, Origin, Places, Result, Source, document,
    known, variables,
};

/// The configuration that these inputs mean.
pub(super) fn load(inputs: &Inputs) -> Result<Config> {
    let places = Places::find(inputs)?;
    let mut settings = defaults()?;
    let mut notices = Vec::new();

    if let Some(file) = &places.user
        && let Some(source) = Source::find(file)?
    {
        settings.lay(document::settings(&source, Layer::User)?);
    }
    if let Some(file) = &inputs.file {
        let source = Source::read(&inputs.cwd.join(file))?;
        settings.lay(document::settings(&source, Layer::Given)?);
    } else if let Some(source) = Source::find(&places.project)? {
        let (layer, notice) = project(inputs, &source)?;
        settings.lay(layer);
        notices.extend(notice);
    }
    let env_file = env_file(inputs, &places, &mut notices)?;
    let mut left_out = Vec::new();
    if let Some(file) = &env_file {
        let (layer, keys) = file.layer(&settings.agents())?;
        settings.lay(layer);
        left_out = keys;
    }
    settings.lay(environment(inputs, &settings.agents())?);
    settings.lay(flags(inputs)?);

    let mut secrets = BTreeMap::new();
    if let Some(file) = &env_file {
        notices.extend(file.notice(left_out, &missing_keys(inputs, &settings)));
        secrets.extend(file.secrets());
    }
    secrets.extend(environment_secrets(inputs));
    Ok(Config {
        settings,
        notices,
        secrets,
        root: places.root,
    })
}

/// What the list of trust says about a file; without a home there is no list.
pub(super) fn standing(inputs: &Inputs, source: &Source) -> Result<Standing> {
    match inputs.state_folder() {
        Some(folder) => Ok(Store::load(&folder)?.standing(source)),
        None => Ok(Standing::Unknown),
    }
}

fn defaults() -> Result<Settings> {
    let mut settings = Settings::default();
    for known in known::KEYS {
        if let Some(default) = known.default {
            let key = Key::dotted(known.path);
            settings.put(&key, known.kind.read(default), Origin::built_in())?;
        }
    }
    Ok(settings)
}

/// What the project's file may set, and what it had to leave out.
fn project(inputs: &Inputs, source: &Source) -> Result<(Settings, Option<Notice>)> {
    let mut settings = document::settings(source, Layer::Project)?;
    let standing = standing(inputs, source)?;
    if standing == Standing::Trusted {
        return Ok((settings, None));
    }
    let keys = settings.take_out_untrusted();
    let notice = Notice::untrusted(source, standing, keys.iter().map(Key::to_string).collect());
    Ok((settings, notice))
}

/// The project's `.env`, if there is one. It belongs to many programs, so that one which cannot be read is a notice
/// and no error; and a folder of that name is somebody's Python environment.
fn env_file(
    inputs: &Inputs,
    places: &Places,
    notices: &mut Vec<Notice>,
) -> Result<Option<EnvFile>> {
    if places.dot_env.is_dir() {
        return Ok(None);
    }
    match Source::find(&places.dot_env) {
        Ok(Some(source)) => {
            let standing = standing(inputs, &source)?;
            Ok(Some(EnvFile::new(source, standing)))
        }
        Ok(None) => Ok(None),
        Err(error) => {
            notices.push(Notice::Unreadable(error));
            Ok(None)
        }
    }
}

/// The variables that some agent's key is to be looked up in, and that the environment does not hold.
fn missing_keys<'a>(inputs: &Inputs, settings: &'a Settings) -> Vec<&'a str> {
    let wanted = settings
        .iter()
        .filter_map(|(_, setting)| match setting.known.kind {
            Kind::Variable => setting.value.as_str(),
            _ => None,
        });
    let is_missing = |name: &&str| {
        let value = inputs.environment.get(OsStr::new(name));
        value.is_none_or(|value| value.is_empty())
    };
    wanted.filter(is_missing).collect()
}

fn environment(inputs: &Inputs, agents: &[&str]) -> Result<Settings> {
    let mut settings = Settings::default();
    for (name, value) in &inputs.environment {
        let Some(name) = name.to_str().filter(|name| variables::is_ours(name)) else {
            continue;
        };
        let origin = Origin::variable(name);
        let Some(value) = value.to_str() else {
            let key = Key::new([name]);
            return Err(Error::wrong_value(origin, &key, "not UTF-8", "text"));
        };
        variables::put(&mut settings, agents, (name, value), origin)?;
    }
    Ok(settings)
}

fn flags(inputs: &Inputs) -> Result<Settings> {
    let mut settings = Settings::default();
    for flag in &inputs.flags {
        let origin = Origin::flag(flag.name);
        variables::put_text(&mut settings, &flag.key, &flag.value, origin)?;
    }
    Ok(settings)
}

/// The variables that may be looked up. An empty one is none, as it sets no key either.
fn environment_secrets(inputs: &Inputs) -> impl Iterator<Item = (String, SecretString)> {
    inputs.environment.iter().filter_map(|(name, value)| {
        let value = value.to_str().filter(|value| !value.is_empty());
        let secret = SecretString::from(value?);
        Some((name.to_str()?.to_owned(), secret))
    })
}
