mod format;
mod grammar;
mod handle;
mod hostile;
mod local;
mod registry;
mod structured;
mod structured_native;
