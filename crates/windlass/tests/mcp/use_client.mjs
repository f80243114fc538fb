// The official MCP client for Node that negotiates the protocol without sessions.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { CONFIG, run } from './flow.mjs';

const load = createRequire(`${CONFIG.modules}/`);
const { Client, StreamableHTTPClientTransport } = load('@modelcontextprotocol/client');
const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio');

const transport = CONFIG.url
  ? new StreamableHTTPClientTransport(new URL(CONFIG.url), { requestInit: { headers: { Authorization: `Bearer ${CONFIG.token}` } } })
  : new StdioClientTransport({ ...CONFIG.server, stderr: 'inherit' });
const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
await client.connect(transport);
assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
await run(client, (name, args, options) => client.callTool({ name, arguments: args }, options));
