// Client for the HTTP API, with one function per request that the dashboard makes.

const BASE = '/api/v1';
const PAGE_SIZE = 1000;
// The most events that the server returns in one response.
export const EVENT_PAGE = 500;

export class ApiError extends Error {
  constructor(status, body) {
    super(body?.error?.message ?? (status ? `the server returned status ${status}` : 'cannot reach the server'));
    this.status = status;
    this.code = body?.error?.code ?? 'unknown';
    this.id = body?.error?.id ?? null;
  }
}

let unauthorizedHandler = () => {};

// Sets the handler that is called when the server answers 401.
export function onUnauthorized(handler) {
  unauthorizedHandler = handler;
}

async function call(method, path, { body, headers, signal } = {}) {
  let response;
  try {
    response = await fetch(BASE + path, {
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
  const text = await response.text();
  let json = null;
  try {
    json = text ? JSON.parse(text) : null;
  } catch {
    // Not JSON: the caller gets the status alone.
  }
  if (response.ok) return json;
  if (response.status === 401 && !(method === 'POST' && path === '/session')) unauthorizedHandler();
  throw new ApiError(response.status, json);
}

const get = (path) => call('GET', path);
const post = (path, body = {}, headers = {}) => call('POST', path, { body, headers });
const patch = (path, body) => call('PATCH', path, { body });
const put = (path, body) => call('PUT', path, { body });

function query(values) {
  const present = Object.entries(values).filter(([, value]) => value != null && value !== '');
  return present.length ? `?${new URLSearchParams(present)}` : '';
}

export function newIdempotencyKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

// Converts store records, which arrive as pairs of attempt and record, to flat objects.
const flattenRecords = (rows) => rows.map((row) => {
  if (Array.isArray(row)) return { attempt: row[0], ...row[1] };
  const { attempt, result, correction, ...rest } = row;
  return { attempt, ...rest, ...result, ...correction };
});

export const api = {
  login: (token) => post('/session', { token }),
  logout: () => call('DELETE', '/session'),
  session: () => get('/session'),
  health: () => get('/health'),
  projects: () => get('/projects'),
  tasks: (values) => get(`/tasks${query(values)}`),
  task: (id) => get(`/tasks/${id}`),
  add: (task, idempotencyKey) => post('/tasks', task, { 'idempotency-key': idempotencyKey }),
  edit: (id, changes) => patch(`/tasks/${id}`, changes),
  pause: (id) => post(`/tasks/${id}/pause`),
  resume: (id) => post(`/tasks/${id}/resume`),
  bulk: (body) => post('/tasks/bulk', body),
  workers: () => get('/worker'),
  pauseWorkers: (body) => post('/worker/pause', body),
  resumeWorkers: (body) => post('/worker/resume', body),
  registeredWorkers: () => get('/workers'),
  drainWorker: (id) => post(`/workers/${id}/drain`),
  note: (project) => get(`/projects/${project}/note`),
  setNote: (project, note) => put(`/projects/${project}/note`, { note }),
  cancel: (id) => post(`/tasks/${id}/cancel`),
  retry: (id, values = {}) => post(`/tasks/${id}/retry${query(values)}`),
  accept: (id) => post(`/tasks/${id}/accept`),
  merge: (id) => post(`/tasks/${id}/merge`),
  mergePreview: (id) => post(`/tasks/${id}/merge?dry_run=true`),
  sendMessage: (id, text) => post(`/tasks/${id}/messages`, { text }),
  attempts: (id) => get(`/tasks/${id}/attempts`),
  diff: (id, values) => get(`/tasks/${id}/diff${query(values)}`),
  reviews: (id) => get(`/tasks/${id}/reviews`),
  review: (id, body) => post(`/tasks/${id}/reviews`, body),
  land: (id) => post(`/tasks/${id}/land`),
  unland: (id) => call('DELETE', `/tasks/${id}/land`),
  landings: () => get('/landings'),
  tests: async (id) => flattenRecords(await get(`/tasks/${id}/tests`)),
  corrections: async (id) => flattenRecords(await get(`/tasks/${id}/corrections`)),
  proof: (id) => get(`/tasks/${id}/proof`),
  taskBlockers: (id) => get(`/tasks/${id}/blockers`),
  taskTraces: (id) => get(`/tasks/${id}/traces`),
  events: (after, values = {}) => get(`/events${query({ after, limit: PAGE_SIZE, ...values })}`),
  taskEvents: (id, range) => get(`/tasks/${id}/events${query({ ...range, limit: EVENT_PAGE })}`),
  blockers: () => get('/blockers?open=true'),
  answer: (id, text) => post(`/blockers/${id}/answer`, { text }),
  approvals: () => get('/approvals?open=true'),
  decide: (id, option) => post(`/approvals/${id}/decision`, { option }),
  agents: () => get('/agents'),
  usage: () => get('/usage'),
  callUsage: (values) => get(`/usage/calls${query(values)}`),
  evaluations: () => get('/evaluations'),
  traces: (limit = 100) => get(`/traces${query({ limit })}`),
  trace: (id) => get(`/traces/${encodeURIComponent(id)}`),
};
