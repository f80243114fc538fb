//! The encodings of a path or a secret inside a text.

/// An encoding that replay can recognize and restore. The detail in the placeholder identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathEncoding {
    /// Unchanged.
    Plain,
    /// Percent-encoded as in a URL's query: `%2Fhome%2Fme`.
    Percent,
    /// As a file name, the way agents name the state of a directory: `-home-me`.
    Dashed,
    /// With escaped slashes, as some JSON writers do: `\/home\/me`.
    Slashed,
}

impl PathEncoding {
    const ALL: [Self; 4] = [Self::Plain, Self::Percent, Self::Dashed, Self::Slashed];

    /// Returns the encoding that a placeholder's detail names.
    pub(crate) fn from_detail(detail: Option<&str>) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|encoding| encoding.detail() == detail)
    }

    fn detail(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Percent => Some("percent"),
            Self::Dashed => Some("dashed"),
            Self::Slashed => Some("slashed"),
        }
    }

    /// Returns the path in this encoding.
    pub(crate) fn encode(self, path: &str) -> String {
        match self {
            Self::Plain => path.to_owned(),
            Self::Percent => percent(path, ""),
            Self::Dashed => path.replace(|c: char| !c.is_ascii_alphanumeric(), "-"),
            Self::Slashed => path.replace('/', "\\/"),
        }
    }

    fn placeholder(self, name: &str) -> String {
        match self.detail() {
            None => format!("{{{name}}}"),
            Some(detail) => format!("{{{name}:{detail}}}"),
        }
    }
}

/// Returns every encoding of a path with its placeholder.
///
/// Encodings that differ from the plain one only on some machines share its placeholder, so that
/// recordings are the same on all machines.
pub(crate) fn path_encodings(path: &str, name: &str) -> Vec<(String, String)> {
    let with_slashes = path.replace('\\', "/");
    let mut plain_forms = escaped(path);
    plain_forms.extend([percent(&with_slashes, "/:"), with_slashes]);
    plain_forms.sort();
    plain_forms.dedup();
    let plain = PathEncoding::Plain.placeholder(name);
    let mut all: Vec<_> = plain_forms
        .into_iter()
        .map(|s| (s, plain.clone()))
        .collect();
    for encoding in [PathEncoding::Percent, PathEncoding::Slashed] {
        let encoded = encoding.encode(path);
        let lower = encoded.replace("%2F", "%2f");
        all.extend([encoded, lower].map(|s| (s, encoding.placeholder(name))));
    }
    all
}

/// Returns the path as part of a file name, with its placeholder. Returns `None` for a path of one part,
/// because it would match in ordinary text: `-root`.
pub(crate) fn dashed_path_encoding(path: &str, name: &str) -> Option<(String, String)> {
    let parts = path.matches(['/', '\\']).count();
    (parts > 1).then(|| {
        (
            PathEncoding::Dashed.encode(path),
            PathEncoding::Dashed.placeholder(name),
        )
    })
}

/// Returns every encoding of a secret: plain, escaped, and percent-encoded with upper or lower case digits.
pub(crate) fn secret_encodings(secret: &str) -> Vec<String> {
    let mut encodings = escaped(secret);
    encodings.extend([percent(secret, ""), percent_lower(secret)]);
    encodings.sort();
    encodings.dedup();
    encodings
}

/// Returns the text unchanged, inside JSON, inside JSON inside JSON, and inside ASCII-only JSON.
fn escaped(text: &str) -> Vec<String> {
    let once = json(text);
    vec![text.to_owned(), json(&once), json_ascii(&once), once]
}

/// Returns the text as the content of a JSON string.
pub(crate) fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn json_ascii(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    ascii
}

/// Percent-encodes everything but letters, digits, `-._~` and the characters in `keep`.
pub(crate) fn percent(text: &str, keep: &str) -> String {
    percent_with(text, keep, |byte| format!("%{byte:02X}"))
}

fn percent_lower(text: &str) -> String {
    percent_with(text, "", |byte| format!("%{byte:02x}"))
}

fn percent_with(text: &str, keep: &str, code: impl Fn(u8) -> String) -> String {
    let mut url = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        let is_kept = c.is_ascii() && keep.contains(c);
        if c.is_ascii_alphanumeric() || "-._~".contains(c) || is_kept {
            url.push(c);
        } else {
            url.push_str(&code(byte));
        }
    }
    url
}
