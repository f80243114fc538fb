// Vercel's AI SDK, with the providers for OpenAI, for compatible servers and for Anthropic.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [url, token, modules] = process.argv.slice(2);
const resolve = createRequire(`${modules}/`).resolve;
const load = (name) => import(pathToFileURL(resolve(name)));
const { embed, generateObject, generateText, jsonSchema, streamText, tool, APICallError } = await load('ai');
const { createOpenAI } = await load('@ai-sdk/openai');
const { createOpenAICompatible } = await load('@ai-sdk/openai-compatible');
const { createAnthropic } = await load('@ai-sdk/anthropic');

const HELLO = 'Hello from the script, in more than one piece.';
const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey: token });
const compatible = createOpenAICompatible({ name: 'windlass', baseURL: `${url}/v1`, apiKey: token });
const anthropic = createAnthropic({ baseURL: `${url}/v1`, apiKey: token });
const weather = tool({
  description: 'The weather.',
  inputSchema: jsonSchema({
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer' } },
    required: ['city', 'days'],
  }),
});
for (const make of [(name) => openai.chat(name), (name) => openai.responses(name), compatible, anthropic]) {
  const ask = (name, prompt, more = {}) => generateText({ model: make(name), prompt, maxRetries: 0, ...more });
  assert.equal((await ask('model', 'plain')).text, HELLO);
  assert.match((await ask('echo', 'round')).text, /round/);
  const { toolCalls } = await ask('model', 'weather', { tools: { weather } });
  assert.deepEqual(toolCalls.map((call) => call.input.city), ['Brno', 'Oslo']);
  const { textStream } = streamText({ model: make('model'), prompt: 'plain', maxRetries: 0 });
  let text = '';
  for await (const part of textStream) text += part;
  assert.equal(text, HELLO);
  await assert.rejects(ask('model', 'unauthorized'), (error) => APICallError.isInstance(error) && error.statusCode === 401 && !error.isRetryable);
}
const schema = jsonSchema({
  type: 'object',
  properties: { name: { type: 'string' }, length: { type: 'integer' } },
  required: ['name', 'length'],
  additionalProperties: false,
});
const { object } = await generateObject({ model: openai.chat('model'), schema, prompt: 'object', maxRetries: 0 });
assert.equal(object.length, 12);
const { embedding } = await embed({ model: openai.textEmbeddingModel('model'), value: 'rope', maxRetries: 0 });
assert.equal(embedding.length, 3);
console.log('ok');
