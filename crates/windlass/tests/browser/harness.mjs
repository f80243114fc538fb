// Test harness for the dashboard: the Windlass processes and the browser.
//
// Environment: WINDLASS is the program, WORLD the directory with project, home and configuration, MODULES the
// directory with node_modules, CHROMIUM the browser, SHOTS the directory for screenshots.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const { WINDLASS, WORLD, MODULES, CHROMIUM, SHOTS } = process.env;
const { chromium } = createRequire(`${MODULES}/`)('playwright-core');

export const TIMEOUT_MS = 60_000;

function fail(message) {
  throw new Error(message);
}

export function assert(condition, message) {
  if (!condition) fail(message);
}

export function assertEqual(actual, expected, message) {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  assert(a === b, `${message}:\n  actual   ${a}\n  expected ${b}`);
}

// Starts `windlass` processes in the test project: a server, a worker, or single commands.
export class App {
  constructor() {
    this.running = new Set();
    this.port = 0;
    this.url = null;
  }

  // A process of another machine has another home directory.
  spawn(args, home = 'home') {
    const child = spawn(WINDLASS, ['--config', `${WORLD}/named.toml`, ...args], {
      cwd: `${WORLD}/project`,
      env: { HOME: `${WORLD}/${home}`, PATH: process.env.PATH, KEY: 'not-a-real-key' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.output = '';
    this.running.add(child);
    child.ended = new Promise((resolve) => {
      child.on('exit', (code, signal) => {
        this.running.delete(child);
        resolve({ code, signal });
      });
    });
    return child;
  }

  // Waits for a line on stdout or stderr that matches the pattern.
  async waitForLine(child, pattern) {
    const found = new Promise((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        createInterface({ input: stream }).on('line', (line) => {
          child.output += `${line}\n`;
          const match = line.match(pattern);
          if (match) resolve(match);
        });
      }
    });
    const ended = child.ended.then(({ code }) => fail(`the process exited with ${code} before it printed ${pattern}:\n${child.output}`));
    return Promise.race([found, ended]);
  }

  // Starts the server, on the same port each time.
  async serve(...flags) {
    this.server = this.spawn(['serve', '--listen', `127.0.0.1:${this.port}`, ...flags]);
    const [, url, port] = await this.waitForLine(this.server, /ready at (http:\/\/127\.0\.0\.1:(\d+))/);
    this.port = Number(port);
    this.url = url;
    return url;
  }

  async kill(child, signal) {
    child.kill(signal);
    await child.ended;
  }

  token() {
    return readFileSync(`${WORLD}/home/.local/state/windlass/server-token`, 'utf8').trim();
  }

  // Runs a command to its end. Returns its stdout.
  async run(...args) {
    const child = this.spawn(args);
    let out = '';
    let err = '';
    child.stdout.on('data', (data) => { out += data; });
    child.stderr.on('data', (data) => { err += data; });
    const closed = new Promise((resolve) => { child.on('close', resolve); });
    const { code } = await child.ended;
    await closed;
    assert(code === 0, `windlass ${args.join(' ')} exited with ${code}: ${err}`);
    return out;
  }

  // Returns the stored events of a task.
  async taskLog(task) {
    const out = await this.run('task', 'log', String(task), '--json');
    return out.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  }

  async close() {
    for (const child of [...this.running]) await this.kill(child, 'SIGKILL');
  }
}

// Collects the problems of a page. A script error, a policy violation or a request to another origin fails the test.
export class PageMonitor {
  constructor(page, app) {
    this.page = page;
    this.problems = [];
    // Set while the server is down: the browser's connection errors are then expected.
    this.expectOutage = false;
    this.expectUnauthorized = false;
    // Set if the server refuses something on purpose.
    this.expectConflict = false;
    page.setDefaultTimeout(TIMEOUT_MS);
    page.on('pageerror', (error) => this.problems.push(`error: ${error.message}`));
    page.on('console', (message) => {
      const text = message.text();
      const isOutage = this.expectOutage && /ERR_CONNECTION|ERR_SOCKET_NOT_CONNECTED|WebSocket connection/.test(text);
      const isUnauthorized = this.expectUnauthorized && /status of 401/.test(text);
      const isConflict = this.expectConflict && /status of 409/.test(text);
      if (message.type() === 'error' && !isOutage && !isUnauthorized && !isConflict) this.problems.push(`console: ${text} (${message.location().url})`);
    });
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(app.url) && !url.startsWith('data:')) this.problems.push(`request to another origin: ${url}`);
    });
    page.on('websocket', (socket) => {
      if (!socket.url().startsWith(app.url.replace('http', 'ws'))) this.problems.push(`WebSocket to another origin: ${socket.url()}`);
    });
  }

  async assertClean() {
    const violations = await this.page.evaluate(() => window.policyViolations ?? []).catch(() => []);
    assertEqual([...this.problems, ...violations], [], 'the page has problems');
  }
}

export class Browser {
  constructor(app) {
    this.app = app;
    this.monitors = [];
  }

  async start() {
    this.chromium = await chromium.launch({ executablePath: CHROMIUM, chromiumSandbox: process.getuid() !== 0 });
  }

  // Opens the dashboard by the printed link.
  async open({ path = '/', theme = 'light', width = 1280, height = 860, scale = 1, signIn = true, timezone = 'UTC' } = {}) {
    const context = await this.chromium.newContext({
      viewport: { width, height }, colorScheme: theme, deviceScaleFactor: scale, reducedMotion: 'reduce', timezoneId: timezone,
    });
    await context.addInitScript(() => {
      window.policyViolations = [];
      document.addEventListener('securitypolicyviolation', (event) => {
        window.policyViolations.push(`policy: ${event.violatedDirective} ${event.blockedURI}`);
      });
    });
    const page = await context.newPage();
    const monitor = new PageMonitor(page, this.app);
    this.monitors.push(monitor);
    if (signIn) {
      await page.goto(`${this.app.url}/#token=${this.app.token()}`);
      await page.locator('.connection[data-connection="live"]').waitFor();
      if (path !== '/') await this.navigate(page, path);
    }
    return Object.assign(page, { monitor });
  }

  async navigate(page, path) {
    await page.evaluate((target) => { location.hash = target; }, path);
  }

  async close() {
    await this.chromium?.close();
  }
}

export const screenshot = (page, name) => page.screenshot({ path: `${SHOTS}/${name}.png` });

// Waits until no loading placeholder is visible.
export const waitForLoaded = (page) => page.waitForFunction(() => ![...document.querySelectorAll('.loading')].some((node) => node.checkVisibility()));

// Runs a test, then ends all processes.
export async function test(body) {
  const app = new App();
  const browser = new Browser(app);
  const timer = setTimeout(() => process.emit('SIGTERM'), 4 * TIMEOUT_MS);
  const close = async (code) => {
    clearTimeout(timer);
    await browser.close().catch(() => {});
    await app.close();
    process.exit(code);
  };
  process.once('SIGTERM', () => {
    console.error('timed out');
    close(1);
  });
  try {
    await browser.start();
    await body({ app, browser });
    for (const monitor of browser.monitors) await monitor.assertClean();
    await close(0);
  } catch (error) {
    console.error(error.stack);
    for (const [index, { page, problems }] of browser.monitors.entries()) {
      if (problems.length) console.error(`page ${index}: ${problems.join('; ')}`);
      await page.screenshot({ path: `${SHOTS}/failed-${process.argv[1].split('/').pop()}-${index}.png` }).catch(() => {});
    }
    if (app.server?.output) console.error(`server output:\n${app.server.output}`);
    await close(1);
  }
}
