// What every client for Node does with the server: the same steps for each SDK and each transport.

import assert from 'node:assert/strict';

export const CONFIG = JSON.parse(process.argv[2]);

const WORK_TOOLS = ['add_task', 'ask_agent', 'list_agents', 'list_approvals', 'list_blockers', 'list_tasks', 'retry_task', 'show_task', 'wait_for_task', 'diff_task'];
const APPROVE_TOOLS = ['answer_blocker', 'cancel_task', 'decide_approval', 'land_task', 'merge_task', 'push_task', 'review_task'];

/** Runs the steps. `call(name, arguments, options)` calls a tool of this client. */
export async function run(client, call) {
  const { tools } = await client.listTools();
  const names = tools.map((tool) => tool.name);
  assert.deepEqual([...names].sort(), [...WORK_TOOLS, ...APPROVE_TOOLS].sort());
  for (const tool of tools) assert.equal(tool.inputSchema.type, 'object', tool.name);

  const added = await call('add_task', { title: `From ${CONFIG.name}`, description: 'Write done.txt.' });
  const { id } = added.structuredContent.task;
  assert.equal(added.content[0].text, `added task ${id} is pending: From ${CONFIG.name}`);
  const seen = [];
  for (let cursor; ;) {
    const { structuredContent: page } = await call('list_tasks', { limit: 1, ...(cursor && { cursor }) });
    seen.push(...page.tasks.map((task) => task.id));
    cursor = page.next_cursor;
    if (!cursor) break;
  }
  assert.ok(seen.includes(id), seen.join());

  let outcome;
  do {
    outcome = (await call('wait_for_task', { id })).structuredContent;
  } while (!outcome.done);
  assert.equal(outcome.task.status, 'completed', JSON.stringify(outcome));

  const { resources } = await client.listResources();
  const uris = resources.map((resource) => resource.uri);
  const read = async (uri) => (await client.readResource({ uri })).contents[0];
  for (const part of ['proof', 'diff', 'log', 'trace']) assert.ok(uris.includes(`windlass://task/${id}/${part}`), uris.join());
  const proof = await read(`windlass://task/${id}/proof`);
  assert.equal(JSON.parse(proof.text).exit_code, 0, proof.text);
  assert.match((await read(`windlass://task/${id}/diff`)).text, /\+done/);
  assert.match((await read(`windlass://task/${id}/log`)).text, /is completed/);
  assert.equal((await read(`windlass://task/${id}/trace`)).mimeType, 'application/json');
  await assert.rejects(read('windlass://task/999/proof'));
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.equal(resourceTemplates.length, 4);
  assert.match((await call('diff_task', { id, limit: 3 })).structuredContent.diff, /^diff --git/);

  const missing = await call('show_task', { id: 999 });
  assert.equal(missing.isError, true);
  assert.match(missing.content[0].text, /task 999/);
  const answer = await call('ask_agent', { prompt: 'Anything?', agent: 'echo' });
  assert.equal(answer.structuredContent.agent, 'echo', JSON.stringify(answer));

  // No worker takes a task of this kind, so the wait lasts until it is cancelled or times out.
  const idle = (await call('add_task', { title: 'Never', kind: 'test' })).structuredContent.task.id;
  let progress = 0;
  const waited = await call('wait_for_task', { id: idle, timeout_secs: 6 }, { onprogress: () => { progress += 1; } });
  assert.equal(waited.structuredContent.done, false);
  assert.ok(progress > 0, 'no progress');
  const stop = new AbortController();
  const aborted = call('wait_for_task', { id: idle, timeout_secs: 600 }, { signal: stop.signal });
  setTimeout(() => stop.abort(), 300);
  await assert.rejects(aborted);
  assert.equal((await call('cancel_task', { id: idle })).structuredContent.task.status, 'cancelled');

  const merged = (await call('merge_task', { id })).structuredContent;
  assert.equal(merged.merge.status, 'merged', JSON.stringify(merged));
  await client.close();
  console.log('ok');
}
