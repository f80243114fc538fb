//! Java: Maven and Gradle.

use super::project_dir::ProjectDir;
use super::proposal::{Detected, argv};

pub(super) fn detect(dir: &ProjectDir) -> Option<Detected> {
    if dir.has("pom.xml") {
        let maven = if dir.has("mvnw") { "./mvnw" } else { "mvn" };
        // Runs no test, and downloads what the test phase needs, its runner among it.
        let setup = format!(
            "{maven} --batch-mode --quiet test -Dtest=none -DfailIfNoTests=false \
             -Dsurefire.failIfNoSpecifiedTests=false"
        );
        return Some(Detected::new(
            argv(&format!("{maven} --batch-mode test")),
            Some(argv(&setup)),
        ));
    }
    let builds = [
        "build.gradle",
        "build.gradle.kts",
        "settings.gradle",
        "settings.gradle.kts",
    ];
    dir.first(&builds)?;
    let gradle = if dir.has("gradlew") {
        "./gradlew"
    } else {
        "gradle"
    };
    Some(Detected::new(
        argv(&format!("{gradle} --no-daemon test")),
        Some(argv(&format!("{gradle} --no-daemon testClasses"))),
    ))
}
