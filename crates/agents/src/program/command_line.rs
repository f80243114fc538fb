//! Arguments and environment variables of a program, and the model endpoint that it should call.

/// Arguments and environment variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The arguments, without the program.
    pub args: Vec<String>,
    /// Environment variables; never a secret.
    pub env: Vec<(String, String)>,
}

impl CommandLine {
    /// Creates a command with these arguments.
    pub fn new<'a>(args: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            args: args.into_iter().map(str::to_owned).collect(),
            env: Vec::new(),
        }
    }

    /// Adds an argument.
    pub fn arg(&mut self, arg: impl Into<String>) -> &mut Self {
        self.args.push(arg.into());
        self
    }

    /// Adds `--name=value`, so that the value cannot be parsed as a flag.
    pub fn option(&mut self, name: &str, value: &str) -> &mut Self {
        self.arg(format!("--{name}={value}"))
    }

    /// Sets an environment variable.
    pub fn env(&mut self, name: &str, value: impl Into<String>) -> &mut Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }
}

/// The model endpoint that an agent should call.
#[derive(Debug, Clone, Copy)]
pub struct Endpoint<'a> {
    /// The URL as the user wrote it.
    pub url: &'a str,
    /// How the agent authenticates itself there.
    pub auth: EndpointAuth,
}

/// How an agent authenticates itself at an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointAuth {
    /// With the key in the program's first key variable.
    Key,
    /// With the login that its user has stored.
    OwnLogin,
    /// Not at all.
    None,
}

impl Endpoint<'_> {
    /// Returns the URL in the form of OpenAI clients: with `/v1`. A path that already contains a version is
    /// left unchanged.
    pub fn url_with_version(&self) -> String {
        let url = self.url.trim_end_matches('/');
        let is_version = |part: &str| {
            let mut chars = part.chars();
            chars.next() == Some('v') && chars.next().is_some_and(|c| c.is_ascii_digit())
        };
        if url.split('/').skip(3).any(is_version) {
            return url.to_owned();
        }
        format!("{url}/v1")
    }

    /// Returns the URL in the form of Anthropic clients: without `/v1`.
    pub fn url_without_version(&self) -> String {
        let url = self.url.trim_end_matches('/');
        url.strip_suffix("/v1").unwrap_or(url).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_url_is_adapted_to_each_client() {
        let check = |url, with_version: &str, without_version: &str| {
            let endpoint = Endpoint {
                url,
                auth: EndpointAuth::None,
            };
            assert_eq!(endpoint.url_with_version(), with_version);
            assert_eq!(endpoint.url_without_version(), without_version);
        };
        check("http://h:1", "http://h:1/v1", "http://h:1");
        check("http://h:1/v1/", "http://h:1/v1", "http://h:1");
        check("https://h/proxy", "https://h/proxy/v1", "https://h/proxy");
        check(
            "https://h/v1beta/openai",
            "https://h/v1beta/openai",
            "https://h/v1beta/openai",
        );
    }
}
