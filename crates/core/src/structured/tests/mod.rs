//! The finding of answers, by table and by property.

mod extract;
mod hostile;
