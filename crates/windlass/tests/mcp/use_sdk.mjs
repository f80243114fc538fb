// The official MCP SDK for Node, with its handshake.

import { createRequire } from 'node:module';
import { CONFIG, run } from './flow.mjs';

const load = createRequire(`${CONFIG.modules}/`);
const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js');

const transport = CONFIG.url
  ? new StreamableHTTPClientTransport(new URL(CONFIG.url), { requestInit: { headers: { Authorization: `Bearer ${CONFIG.token}` } } })
  : new StdioClientTransport({ ...CONFIG.server, stderr: 'inherit' });
const client = new Client({ name: 'test', version: '1' });
await client.connect(transport);
await run(client, (name, args, options) => client.callTool({ name, arguments: args }, undefined, options));
