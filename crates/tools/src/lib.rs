//! What a model may do in a workspace: read, write, list, search, patch, shell, python.
