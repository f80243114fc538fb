// The official OpenAI SDK for Node, both of its APIs, with agents and with a model.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const [url, token, modules] = process.argv.slice(2);
const OpenAI = createRequire(`${modules}/`)('openai');
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 });

const HELLO = 'Hello from the script, in more than one piece.';
const parameters = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
};
const say = (content) => [{ role: 'user', content }];
const chat = async (model, prompt, more = {}) => {
  const answer = await client.chat.completions.create({ model, messages: say(prompt), ...more });
  return answer.choices[0].message;
};
const chatStream = async (model, prompt, more = {}) => {
  const stream = client.chat.completions.stream({ model, messages: say(prompt), ...more });
  return stream.finalMessage();
};
const respond = (model, input, more = {}) => client.responses.create({ model, input, ...more });
const respondStream = async (model, input, more = {}) => {
  const stream = client.responses.stream({ model, input, ...more });
  return stream.finalResponse();
};
const fails = async (kind, call) => {
  try {
    await call();
  } catch (error) {
    assert.ok(error instanceof kind, `expected ${kind.name}, got ${error}`);
    return error;
  }
  assert.fail(`expected ${kind.name}, got an answer`);
};

for (const ask of [chat, chatStream]) {
  assert.equal((await ask('model', 'plain')).content, HELLO);
  assert.match((await ask('echo', 'round')).content, /round/);
  assert.match((await ask('composer-cli', 'round')).content, /<<<ROLE:USER>>>\nround/);
  assert.match((await ask('composite/profile/pair', 'round')).content, /round/);
  const tools = [{ type: 'function', function: { name: 'weather', parameters } }];
  const { tool_calls: calls } = await ask('model', 'weather', { tools });
  assert.deepEqual(calls.map((call) => JSON.parse(call.function.arguments)), [
    { city: 'Brno', days: 3 },
    { city: 'Oslo', days: 1 },
  ]);
  const refused = await fails(OpenAI.BadRequestError, () => ask('echo', 'Hi!', { tools }));
  assert.match(refused.message, /echo.*weather/);
}
for (const ask of [respond, respondStream]) {
  assert.equal((await ask('model', 'plain')).output_text, HELLO);
  assert.match((await ask('echo', 'round')).output_text, /round/);
  const tools = [{ type: 'function', name: 'weather', strict: false, parameters }];
  const { output } = await ask('model', 'weather', { tools });
  assert.equal(output.filter((item) => item.type === 'function_call').length, 2);
}
const schema = { type: 'object', properties: { name: { type: 'string' }, length: { type: 'integer' } }, required: ['name'] };
const response_format = { type: 'json_schema', json_schema: { name: 'thing', schema } };
assert.equal(JSON.parse((await chat('model', 'object', { response_format })).content).name, 'rope');

const ids = [];
for await (const model of client.models.list()) ids.push(model.id);
assert.ok(ids.includes('composite/profile/pair'), ids.join());
for (const ask of [chat, chatStream, respond, respondStream]) {
  assert.match((await fails(OpenAI.NotFoundError, () => ask('ecko', 'Hi!'))).message, /echo/);
  // Until its limit ends, the account is not asked again.
  const limited = await fails(OpenAI.RateLimitError, () => ask('limited', 'slow down'));
  const seconds = Number(limited.headers.get('retry-after'));
  assert.ok(seconds >= 1 && seconds <= 7, `${seconds}`);
  await fails(OpenAI.InternalServerError, () => ask('model', 'broken'));
}
const wrong = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'wrong', maxRetries: 0 });
await fails(OpenAI.AuthenticationError, () => wrong.models.list());

// A client that disconnects.
const stopped = new AbortController();
const slow = client.chat.completions.create(
  { model: 'composer-cli', messages: say('wait'), stream: true },
  { signal: stopped.signal },
);
setTimeout(() => stopped.abort(), 1500);
await fails(OpenAI.APIUserAbortError, () => slow);
console.log('ok');
