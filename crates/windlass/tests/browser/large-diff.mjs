// A change of 10,000 lines: only the lines near the window are rendered, wherever the user scrolls. Prints how long it
// takes; a busy machine makes no test fail.

import { writeFileSync } from 'node:fs';
import { assert, screenshot, test } from './harness.mjs';

const { WORLD } = process.env;
const FILES = 20;
const LINES = 500;
// The whole page would have more than a hundred thousand elements.
const MAX_ELEMENTS = 5000;

const elements = (page) => page.evaluate(() => document.querySelectorAll('*').length);

await test(async ({ app, browser }) => {
  const content = (file) => Array.from({ length: LINES }, (_, line) => `line ${line} of file ${file}: ${'some words '.repeat(line % 13 === 0 ? 30 : 3)}`).join('\n');
  const writes = Array.from({ length: FILES }, (_, file) => ({ write_file: { path: `src/part${file % 3}/file${file}.txt`, content: content(file) } }));
  writes.push({ write_file: { path: 'src/large.txt', content: Array.from({ length: 5000 }, (_, line) => `large ${line}`).join('\n') } });
  writeFileSync(`${WORLD}/script.json`, JSON.stringify({ turns: [{ answer: writes }, { or_more: true, answer: [{ text: 'Done.' }] }] }));
  await app.serve();
  await app.run('task', 'add', 'Write a lot');
  const page = await browser.open({ width: 1440, height: 900 });
  await page.locator('[data-column="completed"] .card').waitFor();
  await browser.navigate(page, '/tasks/1/changes');
  await page.locator('.dl.add').first().waitFor();
  const measured = (name) => page.evaluate((entry) => Math.round(performance.getEntriesByName(entry)[0].duration), name);
  console.log(`a change of ${FILES * LINES} lines is shown after ${await measured('windlass.diff')} ms, ${await measured('windlass.diff-render')} ms of them in the page; ${await elements(page)} elements`);
  assert(await elements(page) < MAX_ELEMENTS, `${await elements(page)} elements`);

  const frames = await page.evaluate(async () => {
    const times = [];
    let last = performance.now();
    for (let step = 0; step < 100; step += 1) {
      window.scrollBy(0, 900);
      await new Promise(requestAnimationFrame);
      times.push(performance.now() - last);
      last = performance.now();
    }
    times.sort((a, b) => a - b);
    return { median: Math.round(times[50]), slowest: Math.round(times[99]) };
  });
  console.log(`scrolling takes ${frames.median} ms a frame, ${frames.slowest} ms at most`);
  assert(await elements(page) < MAX_ELEMENTS, `${await elements(page)} elements after scrolling`);
  // Wherever the window is, it is full of lines.
  await page.waitForFunction(() => [...document.querySelectorAll('.dl')].some((row) => {
    const { top, bottom } = row.getBoundingClientRect();
    return top < innerHeight / 2 && bottom > innerHeight / 2 - 100;
  }));

  // The tree leads to a file that is not rendered yet, and its last line can be reached.
  await page.locator('.tree-file', { hasText: 'file17.txt' }).click();
  await page.locator('.file[data-path="src/part2/file17.txt"] .dl', { hasText: 'line 3 of file 17' }).waitFor();
  await page.locator('.file[data-path="src/part2/file17.txt"]').evaluate((node) => window.scrollBy(0, node.getBoundingClientRect().bottom - innerHeight / 2));
  await page.locator('.dl', { hasText: `line ${LINES - 1} of file 17` }).waitFor();

  // A large file is folded until it is opened, and what the server cut is loaded.
  const large = page.locator('.file[data-path="src/large.txt"]');
  await page.locator('.tree-file', { hasText: 'large.txt' }).click();
  await large.locator('.dl', { hasText: 'large 1' }).first().waitFor();
  await large.evaluate((node) => window.scrollBy(0, node.getBoundingClientRect().bottom - innerHeight / 2));
  await large.getByRole('button', { name: 'Load the whole file' }).click();
  await large.getByRole('button', { name: 'Load the whole file' }).waitFor({ state: 'detached' });
  await large.evaluate((node) => window.scrollBy(0, node.getBoundingClientRect().bottom - innerHeight / 2));
  await large.locator('.dl', { hasText: 'large 4999' }).waitFor();
  await page.locator('[data-action="split"]').click();
  await page.locator('.dl.split').first().waitFor();
  await screenshot(page, 'large-diff-split');
});
