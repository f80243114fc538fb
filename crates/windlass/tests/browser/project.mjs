// Several projects in one store: a new task belongs to the served project, unless the user selects another.

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { assertEqual, test } from './harness.mjs';

const { WINDLASS, WORLD } = process.env;

await test(async ({ app, browser }) => {
  // Registers the other project first.
  mkdirSync(`${WORLD}/other/.git`, { recursive: true });
  execFileSync(WINDLASS, ['--config', `${WORLD}/named.toml`, 'task', 'list'], {
    cwd: `${WORLD}/other`, env: { HOME: `${WORLD}/home`, PATH: process.env.PATH },
  });
  await app.serve('--no-worker');
  const page = await browser.open();
  for (const [title, project] of [['Here', null], ['There', 'other']]) {
    await page.keyboard.press('n');
    await page.getByLabel('Title').fill(title);
    if (project) await page.getByLabel('Project', { exact: true }).last().selectOption({ label: project });
    await page.keyboard.press('Control+Enter');
    await page.locator('.card', { hasText: title }).waitFor();
    await page.locator('dialog').waitFor({ state: 'detached' });
  }
  const response = await fetch(`${app.url}/api/v1/tasks`, { headers: { authorization: `Bearer ${app.token()}` } });
  assertEqual((await response.json()).map((task) => [task.title, task.project_id]), [['Here', 2], ['There', 1]], 'the project of each task');
});
