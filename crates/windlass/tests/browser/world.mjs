// The processes that a test of the dashboard needs, and the browser that looks at them.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const { WINDLASS, WORLD, MODULES, CHROMIUM, SHOTS } = process.env;
const { chromium } = createRequire(`${MODULES}/`)('playwright-core');

export const PATIENCE = 60_000;

function fail(message) {
  throw new Error(message);
}

export function check(holds, message) {
  if (!holds) fail(message);
}

export function same(got, wanted, what) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  check(a === b, `${what}:\n  got    ${a}\n  wanted ${b}`);
}

// The program in the world's project: served, working, or run once.
export class World {
  constructor() {
    this.running = new Set();
    this.port = 0;
    this.url = null;
  }

  spawn(args) {
    const child = spawn(WINDLASS, ['--config', `${WORLD}/named.toml`, ...args], {
      cwd: `${WORLD}/project`,
      env: { HOME: `${WORLD}/home`, PATH: process.env.PATH, KEY: 'not-a-real-key' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.said = '';
    this.running.add(child);
    child.ended = new Promise((resolve) => {
      child.on('exit', (code, signal) => {
        this.running.delete(child);
        resolve({ code, signal });
      });
    });
    return child;
  }

  // Waits for a line that fits on one of the child's outputs.
  async line(child, shape) {
    const found = new Promise((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        createInterface({ input: stream }).on('line', (line) => {
          child.said += `${line}\n`;
          const match = line.match(shape);
          if (match) resolve(match);
        });
      }
    });
    const ended = child.ended.then(({ code }) => fail(`it ended with ${code} before it said ${shape}:\n${child.said}`));
    return Promise.race([found, ended]);
  }

  // Serves, on the same port each time.
  async serve(...flags) {
    this.server = this.spawn(['serve', '--listen', `127.0.0.1:${this.port}`, ...flags]);
    const [, url, port] = await this.line(this.server, /ready at (http:\/\/127\.0\.0\.1:(\d+))/);
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

  // A command that ends by itself; gives what it prints.
  async run(...args) {
    const child = this.spawn(args);
    let out = '';
    let err = '';
    child.stdout.on('data', (data) => { out += data; });
    child.stderr.on('data', (data) => { err += data; });
    const closed = new Promise((resolve) => { child.on('close', resolve); });
    const { code } = await child.ended;
    await closed;
    check(code === 0, `windlass ${args.join(' ')} ended with ${code}: ${err}`);
    return out;
  }

  // The store's own list of a task's events.
  async log(task) {
    const out = await this.run('task', 'log', String(task), '--json');
    return out.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  }

  async end() {
    for (const child of [...this.running]) await this.kill(child, 'SIGKILL');
  }
}

// A page that is watched: an error in it, a broken policy, or a request to anywhere else fails the test.
export class Watched {
  constructor(page, world) {
    this.page = page;
    this.problems = [];
    // What a browser says about a server that is away is no problem of the page's.
    this.expectOutage = false;
    this.expectRefusals = false;
    page.setDefaultTimeout(PATIENCE);
    page.on('pageerror', (error) => this.problems.push(`error: ${error.message}`));
    page.on('console', (message) => {
      const text = message.text();
      const away = this.expectOutage && /ERR_CONNECTION|WebSocket connection/.test(text);
      const refused = this.expectRefusals && /status of 401/.test(text);
      if (message.type() === 'error' && !away && !refused) this.problems.push(`console: ${text} (${message.location().url})`);
    });
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(world.url) && !url.startsWith('data:')) this.problems.push(`a request left: ${url}`);
    });
    page.on('websocket', (socket) => {
      if (!socket.url().startsWith(world.url.replace('http', 'ws'))) this.problems.push(`a socket left: ${socket.url()}`);
    });
  }

  async settle() {
    const broken = await this.page.evaluate(() => window.brokenPolicies ?? []).catch(() => []);
    same([...this.problems, ...broken], [], 'the page is not in order');
  }
}

export class Browser {
  constructor(world) {
    this.world = world;
    this.watched = [];
  }

  async start() {
    this.chromium = await chromium.launch({ executablePath: CHROMIUM, chromiumSandbox: process.getuid() !== 0 });
  }

  // Opens the dashboard as somebody does who follows the printed link.
  async open({ path = '/', theme = 'light', width = 1280, height = 860, scale = 1, enter = true, timezone = 'UTC' } = {}) {
    const context = await this.chromium.newContext({
      viewport: { width, height }, colorScheme: theme, deviceScaleFactor: scale, reducedMotion: 'reduce', timezoneId: timezone,
    });
    await context.addInitScript(() => {
      window.brokenPolicies = [];
      document.addEventListener('securitypolicyviolation', (event) => {
        window.brokenPolicies.push(`policy: ${event.violatedDirective} ${event.blockedURI}`);
      });
    });
    const page = await context.newPage();
    const watched = new Watched(page, this.world);
    this.watched.push(watched);
    if (enter) {
      await page.goto(`${this.world.url}/#token=${this.world.token()}`);
      await page.locator('.link[data-link="live"]').waitFor();
      if (path !== '/') await this.go(page, path);
    }
    return Object.assign(page, { watched });
  }

  async go(page, path) {
    await page.evaluate((to) => { location.hash = to; }, path);
  }

  async end() {
    await this.chromium?.close();
  }
}

export const shot = (page, name) => page.screenshot({ path: `${SHOTS}/${name}.png` });

// Waits until nothing on the page says that it waits.
export const settled = (page) => page.waitForFunction(() => ![...document.querySelectorAll('.loading')].some((node) => node.checkVisibility()));

// Runs a test, and leaves nothing behind.
export async function test(body) {
  const world = new World();
  const browser = new Browser(world);
  const late = setTimeout(() => process.emit('SIGTERM'), 4 * PATIENCE);
  const end = async (code) => {
    clearTimeout(late);
    await browser.end().catch(() => {});
    await world.end();
    process.exit(code);
  };
  process.once('SIGTERM', () => {
    console.error('it took too long');
    end(1);
  });
  try {
    await browser.start();
    await body({ world, browser });
    for (const watched of browser.watched) await watched.settle();
    await end(0);
  } catch (error) {
    console.error(error.stack);
    for (const [at, { page, problems }] of browser.watched.entries()) {
      if (problems.length) console.error(`page ${at}: ${problems.join('; ')}`);
      await page.screenshot({ path: `${SHOTS}/failed-${process.argv[1].split('/').pop()}-${at}.png` }).catch(() => {});
    }
    if (world.server?.said) console.error(`the server said:\n${world.server.said}`);
    await end(1);
  }
}
