//! What the command line masks: the secrets of the configuration and the server's token.

use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use futures::FutureExt;
use futures::future::BoxFuture;
use windlass_cassette::Substitutions;
use windlass_core::mask::MIN_SECRET_LEN;
use windlass_core::{ExposeSecret, Masker, Result, SecretString};
use windlass_tasks::{
    BaseTests, Baseline, Check, CheckRequest, TestPlan, TestResult, Verifier, WorkingCopy,
};
use windlass_testkit::local_substitutions;

use super::serve::token;
use crate::config::{Config, Inputs};

/// The masker of the log, which starts before the configuration is read.
static LOG_MASKER: OnceLock<Masker> = OnceLock::new();

/// Returns a masker for all secrets that are known, and uses it for the log from now on.
pub(super) fn masker(inputs: &Inputs, config: &Config) -> Masker {
    let masker = Masker::new(known_secrets(inputs, config));
    let _ = LOG_MASKER.set(masker.clone());
    masker
}

/// Returns all secrets that are known, with their names.
pub(super) fn known_secrets(inputs: &Inputs, config: &Config) -> Vec<(String, SecretString)> {
    let mut known = config.known_secrets();
    known.extend(token::stored(inputs).map(|token| ("server_token".to_owned(), token)));
    known
}

/// Returns the substitutions of a recording: this machine's paths and every known secret.
pub(super) fn substitutions(inputs: &Inputs, config: &Config) -> Substitutions {
    add_secrets(local_substitutions(), inputs, config)
}

/// Returns every known secret as substitutions.
pub(super) fn secret_substitutions(inputs: &Inputs, config: &Config) -> Substitutions {
    add_secrets(Substitutions::new(), inputs, config)
}

fn add_secrets(substitutions: Substitutions, inputs: &Inputs, config: &Config) -> Substitutions {
    let secrets = known_secrets(inputs, config).into_iter();
    secrets
        .filter(|(_, secret)| secret.expose_secret().len() >= MIN_SECRET_LEN)
        .fold(substitutions, |substitutions, (name, secret)| {
            substitutions.secret(&name, secret)
        })
}

/// Standard error with secrets masked.
#[derive(Debug)]
pub(super) struct MaskedStderr;

impl Write for MaskedStderr {
    /// Writes the whole text. The log writes each of its lines in one call.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match LOG_MASKER.get() {
            Some(masker) => {
                let text = String::from_utf8_lossy(bytes);
                io::stderr().write_all(masker.text(&text).as_bytes())?;
            }
            None => io::stderr().write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// A verifier that masks secrets in its results.
#[derive(Debug)]
pub(super) struct MaskedVerifier<V> {
    pub(super) verifier: V,
    pub(super) masker: Masker,
}

impl<V: Verifier> Verifier for MaskedVerifier<V> {
    fn plan<'a>(&'a self, root: &'a Path) -> BoxFuture<'a, Result<TestPlan>> {
        self.verifier.plan(root)
    }

    fn baseline<'a>(
        &'a self,
        copy: &'a dyn WorkingCopy,
        command: &'a [String],
    ) -> BoxFuture<'a, Result<Baseline>> {
        async move {
            let baseline = self.verifier.baseline(copy, command).await;
            let mut baseline = baseline.map_err(|error| self.masker.error(error))?;
            self.mask(&mut baseline.result);
            if let Some(obstacle) = &mut baseline.obstacle {
                self.masker.string(&mut obstacle.reason);
            }
            Ok(baseline)
        }
        .boxed()
    }

    fn prepare<'a>(&'a self, copy: &'a dyn WorkingCopy) -> BoxFuture<'a, Result<()>> {
        self.verifier.prepare(copy)
    }

    fn check<'a>(
        &'a self,
        copy: &'a dyn WorkingCopy,
        request: CheckRequest<'a>,
    ) -> BoxFuture<'a, Result<Check>> {
        async move {
            let check = self.verifier.check(copy, request).await;
            let mut check = check.map_err(|error| self.masker.error(error))?;
            self.mask(&mut check.own.result);
            if let BaseTests::Run { run, .. } = &mut check.base_tests {
                self.mask(&mut run.result);
            }
            Ok(check)
        }
        .boxed()
    }
}

impl<V> MaskedVerifier<V> {
    fn mask(&self, result: &mut TestResult) {
        self.masker.string(&mut result.output);
        for failure in &mut result.failures {
            self.masker.string(&mut failure.name);
            self.masker.string(&mut failure.message);
        }
    }
}
