//! Addresses of remotes. They are stored where all machines read them, so they have no password, and they start no
//! program but git's own transports.

/// Maximum length of an address.
const MAX_LEN: usize = 2000;
/// The transports that an address can name.
const SCHEMES: &[&str] = &["https", "http", "ssh", "git", "file"];

/// Checks the address of a remote. The error is one sentence.
pub(in crate::cli) fn check_url(url: &str) -> Result<(), String> {
    if url.is_empty() || url.len() > MAX_LEN {
        return Err(format!(
            "the address of a remote has 1 to {MAX_LEN} characters"
        ));
    }
    if url.starts_with('-') {
        return Err(
            "the address of a remote cannot start with a dash, as an option does".to_owned(),
        );
    }
    let is_path = url.starts_with('/');
    let is_bad = |c: char| c.is_control() || (c.is_whitespace() && !(is_path && c == ' '));
    if url.chars().any(is_bad) {
        return Err(
            "the address of a remote cannot contain control characters, nor spaces if it is not a path".to_owned(),
        );
    }
    let helper = url.split_once("::").map(|(name, _)| name);
    if helper.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')) {
        return Err(
            "the address of a remote cannot name a program (NAME::ADDRESS): use https, ssh, git or a path".to_owned(),
        );
    }
    if let Some((scheme, rest)) = url.split_once("://") {
        return check_scheme(scheme, rest);
    }
    if is_path {
        return Ok(());
    }
    match url.split_once(':') {
        Some((host, path)) if !host.contains('/') => check_host(host, path),
        _ => Err(format!(
            "{url} is not the address of a remote: use https://…, ssh://…, user@host:path or an absolute path"
        )),
    }
}

fn check_scheme(scheme: &str, rest: &str) -> Result<(), String> {
    if !SCHEMES.contains(&scheme) {
        return Err(format!(
            "{scheme} is not a transport for a remote: use {}",
            SCHEMES.join(", ")
        ));
    }
    let (authority, _) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let is_web = matches!(scheme, "http" | "https");
    if user.is_some_and(|user| is_web || user.contains(':')) {
        return Err(
            "the address of a remote cannot contain a password or a user's token, because every machine reads it: leave it out, and \
             configure a credential helper of git on each machine"
                .to_owned(),
        );
    }
    let has_no_host = host.is_empty() && scheme != "file";
    if host.starts_with('-') || user.is_some_and(|user| user.starts_with('-')) || has_no_host {
        return Err("the address of a remote must name a host".to_owned());
    }
    Ok(())
}

/// Checks `user@host:path`, which git passes to ssh.
fn check_host(host: &str, path: &str) -> Result<(), String> {
    let (user, name) = host.rsplit_once('@').unwrap_or(("", host));
    let is_bad = name.is_empty() || name.starts_with('-') || user.starts_with('-');
    if is_bad || path.is_empty() || path.starts_with('-') {
        return Err("the address of a remote must name a host and a path".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_git_are_accepted() {
        for url in [
            "https://example.org/team/shop.git",
            "http://127.0.0.1:8080/git/1",
            "ssh://git@example.org:2222/shop.git",
            "ssh://git@[::1]:2222/shop.git",
            "git@example.org:team/shop.git",
            "/srv/git/shop.git",
            "/srv/my projects/shop.git",
            "file:///srv/git/shop.git",
        ] {
            assert_eq!(check_url(url), Ok(()), "{url}");
        }
    }

    #[test]
    fn options_programs_and_passwords_are_refused() {
        for url in [
            "",
            "--upload-pack=touch /tmp/x",
            "-x",
            "ext::sh -c id",
            "ext::sh",
            "ext::sh[",
            "fd::3",
            "https::x",
            "ftp://example.org/x",
            "https://me:secret@example.org/x",
            "https://token@example.org/x",
            "ssh://me:secret@example.org/x",
            "ssh://-oProxyCommand=id/x",
            "ssh://-x@example.org/x",
            "-oProxyCommand=id:x",
            "me@-host:x",
            "host:-x",
            "https:///x",
            "relative/path",
            "..",
            "/srv/with\ttab",
            "/srv/with\u{2003}space",
            "https://example.org/with space",
            "https://example.org/\nx",
        ] {
            let why = check_url(url).expect_err(url);
            assert!(!why.contains("secret") && !why.contains('\n'), "{why}");
        }
    }
}
