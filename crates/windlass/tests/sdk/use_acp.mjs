// The official TypeScript SDK of ACP as a client of `windlass acp`.
//
// usage: use_acp.mjs WINDLASS CONFIG CWD MODULES

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';

const [windlass, config, cwd, modules] = process.argv.slice(2);
const sdk = path.join(modules, 'node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js');
const acp = await import(pathToFileURL(sdk));

const env = { PATH: process.env.PATH, HOME: path.join(path.dirname(config), 'home'), KEY: 'not-a-real-key' };
const program = spawn(windlass, ['--config', config, 'acp'], { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] });
const stream = acp.ndJsonStream(Writable.toWeb(program.stdin), Readable.toWeb(program.stdout));

let updates = [];
const permissions = [];
let onToolCall = () => {};
const ofKind = (kind) => updates.filter((update) => update.sessionUpdate === kind);
const text = () => ofKind('agent_message_chunk').map((chunk) => chunk.content.text).join('');

const editor = acp
  .client({ name: 'a test' })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    updates.push(params.update);
    if (params.update.sessionUpdate === 'tool_call') onToolCall();
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    permissions.push(params.toolCall);
    const { optionId } = params.options.find(({ kind }) => kind === 'allow_once');
    return { outcome: { outcome: 'selected', optionId } };
  });

await editor.connectWith(stream, async (agent) => {
  const { initialize, session } = acp.methods.agent;
  const hello = await agent.request(initialize, { protocolVersion: 1, clientCapabilities: {} });
  assert.equal(hello.protocolVersion, 1);
  assert.equal(hello.agentInfo.name, 'windlass');
  const { sessionId, modes } = await agent.request(session.new, { cwd, mcpServers: [] });
  assert.deepEqual(modes.availableModes.map(({ id }) => id), ['ask', 'edit', 'task']);
  const prompt = (line) => {
    updates = [];
    return agent.request(session.prompt, { sessionId, prompt: [{ type: 'text', text: line }] });
  };
  const select = (configId, value) => agent.request(session.setConfigOption, { sessionId, configId, value });

  assert.equal((await prompt('Greet like a sailor')).stopReason, 'end_turn');
  assert.equal(text(), 'Now it says Ahoy.');
  const [call] = ofKind('tool_call');
  assert.deepEqual([call.content[0].oldText, call.content[0].newText], ['Hello', 'Ahoy']);
  assert.equal(ofKind('tool_call_update').at(-1).status, 'completed');
  const { sessions } = await agent.request(session.list, { cwd });
  assert.deepEqual(sessions.map(({ title }) => title), ['Greet like a sailor']);

  await select('agent', 'careful');
  await prompt('Write it');
  assert.equal(text(), 'So be it.');
  assert.equal(permissions[0].content[0].newText, 'new\n');
  assert.equal(readFileSync(path.join(cwd, 'new.txt'), 'utf8'), 'new\n');

  await select('agent', 'player');
  onToolCall = () => agent.notify(session.cancel, { sessionId });
  assert.equal((await prompt('Wait')).stopReason, 'cancelled');
  onToolCall = () => {};

  await agent.request(session.setMode, { sessionId, modeId: 'task' });
  assert.equal((await prompt('Write done.txt')).stopReason, 'end_turn');
  assert.match(text(), /`windlass\/\w+\/task-1`/);
  assert.equal(ofKind('plan').at(-1).entries.at(-1).status, 'completed');

  await agent.request(session.close, { sessionId });
  updates = [];
  await agent.request(session.load, { sessionId, cwd, mcpServers: [] });
  assert.equal(ofKind('user_message_chunk').length, 4);
  const unknown = { sessionId: 'unknown', prompt: [{ type: 'text', text: 'Hello?' }] };
  await assert.rejects(agent.request(session.prompt, unknown), /is not known to windlass/);
});

const ended = new Promise((resolve) => program.once('exit', resolve));
program.stdin.end();
assert.equal(await ended, 0);
console.log('ok');
