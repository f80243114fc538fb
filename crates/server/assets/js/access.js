// What the token of this session allows. The server checks it too; here it decides which controls are usable.

import { api } from './api.js';

let session = null;

export async function loadSession() {
  session = await api.session();
}

// Returns why the token does not allow something, or null. Before the session is known, the server decides.
export function missingScope(scope) {
  if (!session || session.scopes.includes(scope)) return null;
  return `The token "${session.name}" does not have the scope ${scope}.`;
}

// Disables a control, with the reason as its title, unless the token has the scope.
export function needsScope(scope, node) {
  const reason = missingScope(scope);
  if (reason) {
    node.disabled = true;
    node.title = reason;
  }
  return node;
}
