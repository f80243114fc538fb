mod format;
mod grammar;
mod handle;
mod hostile;
mod local;
mod registry;
