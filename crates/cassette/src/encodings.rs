//! The encodings of a path inside a text.

use windlass_core::mask::{json_forms, percent_encode};

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
            Self::Percent => percent_encode(path, ""),
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
    let mut plain_forms = json_forms(path);
    plain_forms.extend([percent_encode(&with_slashes, "/:"), with_slashes]);
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
