//! HTTP API, WebSocket, dashboard and auth.
