//! Parses a `windlass.toml` into settings, each with its line and column.

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::origin::LineIndex;
use super::setting::SettingMap;
use super::{Error, Key, Layer, Origin, Result, SourceFile, lookup, suggest};

/// Parses the settings of a file.
pub(super) fn settings(source: &SourceFile, layer: Layer) -> Result<SettingMap> {
    let file = Origin::file(layer, source.path());
    let lines = LineIndex::new(source.text());
    let table = DeTable::parse(source.text()).map_err(|error| Error::Syntax {
        at: Box::new(match error.span() {
            Some(span) => file.at(lines.line_column(span.start)),
            None => file.clone(),
        }),
        message: error.message().lines().collect::<Vec<_>>().join("; "),
    })?;
    let mut reader = TomlReader {
        file,
        lines,
        settings: SettingMap::default(),
    };
    reader.table(&Key::default(), table.get_ref())?;
    Ok(reader.settings)
}

struct TomlReader<'a> {
    file: Origin,
    lines: LineIndex<'a>,
    settings: SettingMap,
}

impl TomlReader<'_> {
    /// Reads a table. The recursion is limited by the depth of the key table.
    fn table(&mut self, parent: &Key, table: &DeTable<'_>) -> Result<()> {
        for (name, value) in table {
            let key = parent.child(name.get_ref());
            self.item(&key, self.at(name), value)?;
        }
        Ok(())
    }

    fn item(&mut self, key: &Key, at: Origin, value: &Spanned<DeValue<'_>>) -> Result<()> {
        lookup::check_name(key, &at)?;
        let leaf = lookup::find_key(key);
        let takes_tables = leaf
            .as_ref()
            .is_some_and(|leaf| leaf.known.kind.takes_tables());
        match (value.get_ref(), &leaf) {
            (DeValue::Table(table), _) if lookup::is_table(key) && !takes_tables => {
                self.table(key, table)
            }
            (item, Some(leaf)) => {
                let at = self.at(value);
                let value = json(item).map_err(|found| {
                    Error::wrong_value(at.clone(), key, found, &leaf.known.kind.expected())
                })?;
                self.settings.insert(key, value, at)
            }
            (item, None) if lookup::is_table(key) => {
                let at = self.at(value);
                Err(Error::wrong_value(at, key, noun(item), "a table"))
            }
            (_, None) => Err(suggest::unknown_key(at, key)),
        }
    }

    fn at<T>(&self, item: &Spanned<T>) -> Origin {
        self.file.at(self.lines.line_column(item.span().start))
    }
}

/// Converts a value to JSON, or returns a description of a value that JSON cannot represent.
///
/// The parser rejects values nested deeper than 80 levels, so this cannot overflow the stack.
fn json(value: &DeValue<'_>) -> Result<Value, &'static str> {
    Ok(match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Datetime(_) => return Err("a date or a time"),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(Value::from)
            .map_err(|_| "a number that does not fit into 64 bits")?,
        DeValue::Float(number) => {
            let number: f64 = number.as_str().parse().map_err(|_| "not a number")?;
            serde_json::Number::from_f64(number)
                .map(Value::Number)
                .ok_or("not a finite number")?
        }
        DeValue::Array(items) => items
            .iter()
            .map(|item| json(item.get_ref()))
            .collect::<Result<_, _>>()?,
        DeValue::Table(table) => table
            .iter()
            .map(|(name, item)| Ok((name.get_ref().to_string(), json(item.get_ref())?)))
            .collect::<Result<Map<_, _>, &str>>()?
            .into(),
    })
}

/// Describes the type of a value, for use after "is".
fn noun(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(true) => "true",
        DeValue::Boolean(false) => "false",
        DeValue::Datetime(_) => "a date or a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
