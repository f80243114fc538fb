//! Model APIs served.
