// The HTTP API, one function for each thing that the dashboard asks for.

const BASE = '/api/v1';
const PAGE = 1000;

export class ApiError extends Error {
  constructor(status, body) {
    super(body?.error?.message ?? (status ? `the server answered ${status}` : 'the server cannot be reached'));
    this.status = status;
    this.code = body?.error?.code ?? 'unknown';
    this.id = body?.error?.id ?? null;
  }
}

let onLocked = () => {};

// Says what to do when the server wants a token.
export function whenLocked(act) {
  onLocked = act;
}

async function call(method, path, { body, headers, signal } = {}) {
  let answer;
  try {
    answer = await fetch(BASE + path, {
      method,
      signal,
      credentials: 'same-origin',
      cache: 'no-store',
      headers: { accept: 'application/json', ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
      body: body ? JSON.stringify(body) : undefined,
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0);
  }
  const text = await answer.text();
  let said = null;
  try {
    said = text ? JSON.parse(text) : null;
  } catch {
    // Not JSON: the status says enough.
  }
  if (answer.ok) return said;
  if (answer.status === 401 && !path.startsWith('/session')) onLocked();
  throw new ApiError(answer.status, said);
}

const get = (path) => call('GET', path);
const post = (path, body = {}, headers = {}) => call('POST', path, { body, headers });

function query(values) {
  const set = Object.entries(values).filter(([, value]) => value != null && value !== '');
  return set.length ? `?${new URLSearchParams(set)}` : '';
}

export function key() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

// Store records that come as pairs of attempt and record, made one object.
const numbered = (rows) => rows.map((row) => {
  if (Array.isArray(row)) return { attempt: row[0], ...row[1] };
  const { attempt, result, correction, ...rest } = row;
  return { attempt, ...rest, ...result, ...correction };
});

export const api = {
  enter: (token) => post('/session', { token }),
  leave: () => call('DELETE', '/session'),
  health: () => get('/health'),
  projects: () => get('/projects'),
  tasks: (values) => get(`/tasks${query(values)}`),
  task: (id) => get(`/tasks/${id}`),
  add: (task, idempotencyKey) => post('/tasks', task, { 'idempotency-key': idempotencyKey }),
  cancel: (id) => post(`/tasks/${id}/cancel`),
  retry: (id) => post(`/tasks/${id}/retry`),
  merge: (id) => post(`/tasks/${id}/merge`),
  attempts: (id) => get(`/tasks/${id}/attempts`),
  diff: (id) => get(`/tasks/${id}/diff`),
  tests: async (id) => numbered(await get(`/tasks/${id}/tests`)),
  corrections: async (id) => numbered(await get(`/tasks/${id}/corrections`)),
  proof: (id) => get(`/tasks/${id}/proof`),
  questions: (id) => get(`/tasks/${id}/questions`),
  taskTraces: (id) => get(`/tasks/${id}/traces`),
  events: (after, values = {}) => get(`/events${query({ after, limit: PAGE, ...values })}`),
  taskEvents: (id, after) => get(`/tasks/${id}/events${query({ after, limit: PAGE })}`),
  blockers: () => get('/blockers?open=true'),
  answer: (id, text) => post(`/blockers/${id}/answer`, { text }),
  approvals: () => get('/approvals?open=true'),
  decide: (id, option) => post(`/approvals/${id}/decision`, { option }),
  agents: () => get('/agents'),
  usage: () => get('/usage'),
  traces: (limit = 100) => get(`/traces${query({ limit })}`),
  trace: (id) => get(`/traces/${encodeURIComponent(id)}`),
};
