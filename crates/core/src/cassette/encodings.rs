//! The ways in which a path or a secret may be spelt inside a text.

/// A spelling that replay can tell apart and give back, by what follows the name in its placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathEncoding {
    /// As it is.
    Plain,
    /// As part of a URL's query: `%2Fhome%2Fme`.
    Percent,
    /// As the name of a file, the way agents name a folder's state: `-home-me`.
    Dashed,
    /// As cautious JSON writers put it: `\/home\/me`.
    Slashed,
}

impl PathEncoding {
    const ALL: [Self; 4] = [Self::Plain, Self::Percent, Self::Dashed, Self::Slashed];

    /// The form that a placeholder's detail names.
    pub(super) fn from_detail(detail: Option<&str>) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.detail() == detail)
    }

    fn detail(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Percent => Some("percent"),
            Self::Dashed => Some("dashed"),
            Self::Slashed => Some("slashed"),
        }
    }

    /// The path in this form.
    pub(super) fn encode(self, path: &str) -> String {
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

/// Every spelling of a path with its placeholder.
///
/// Those that differ from the plain one only on some machines share its placeholder, so that all machines
/// record the same.
pub(super) fn path_encodings(path: &str, name: &str) -> Vec<(String, String)> {
    let with_slashes = path.replace('\\', "/");
    let mut spellings = escaped(path);
    spellings.extend([percent(&with_slashes, "/:"), with_slashes]);
    spellings.sort();
    spellings.dedup();
    let plain = PathEncoding::Plain.placeholder(name);
    let mut all: Vec<_> = spellings.into_iter().map(|s| (s, plain.clone())).collect();
    for form in [PathEncoding::Percent, PathEncoding::Slashed] {
        let spelt = form.encode(path);
        let lower = spelt.replace("%2F", "%2f");
        all.extend([spelt, lower].map(|s| (s, form.placeholder(name))));
    }
    all
}

/// The path as part of a file's name, with its placeholder. A path of one part would be found in ordinary
/// words: `-root`.
pub(super) fn dashed_path_encoding(path: &str, name: &str) -> Option<(String, String)> {
    let parts = path.matches(['/', '\\']).count();
    (parts > 1).then(|| {
        (
            PathEncoding::Dashed.encode(path),
            PathEncoding::Dashed.placeholder(name),
        )
    })
}

/// Every spelling of a secret: as it is, escaped, and in a URL with either kind of hexadecimal digits.
pub(super) fn secret_encodings(secret: &str) -> Vec<String> {
    let mut spellings = escaped(secret);
    spellings.extend([percent(secret, ""), percent_lower(secret)]);
    spellings.sort();
    spellings.dedup();
    spellings
}

/// The text as it is, inside JSON, inside JSON inside JSON, and inside JSON that is ASCII.
fn escaped(text: &str) -> Vec<String> {
    let once = json(text);
    vec![text.to_owned(), json(&once), json_ascii(&once), once]
}

/// The text as the inside of a JSON string.
pub(super) fn json(text: &str) -> String {
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

/// The text with everything but letters, digits and `-._~` as `%XX`, save what is to be kept.
pub(super) fn percent(text: &str, keep: &str) -> String {
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
