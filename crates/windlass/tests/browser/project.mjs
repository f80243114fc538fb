// Several projects in one store: what is added belongs to the one that is served, unless somebody says otherwise.

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { same, test } from './world.mjs';

const { WINDLASS, WORLD } = process.env;

await test(async ({ world, browser }) => {
  // The other one is the first that the store knows.
  mkdirSync(`${WORLD}/other/.git`, { recursive: true });
  execFileSync(WINDLASS, ['--config', `${WORLD}/named.toml`, 'task', 'list'], {
    cwd: `${WORLD}/other`, env: { HOME: `${WORLD}/home`, PATH: process.env.PATH },
  });
  await world.serve('--no-worker');
  const page = await browser.open();
  for (const [title, project] of [['Here', null], ['There', 'other']]) {
    await page.keyboard.press('n');
    await page.getByLabel('Title').fill(title);
    if (project) await page.getByLabel('Project', { exact: true }).last().selectOption({ label: project });
    await page.keyboard.press('Control+Enter');
    await page.locator('.card', { hasText: title }).waitFor();
    await page.locator('dialog').waitFor({ state: 'detached' });
  }
  const answer = await fetch(`${world.url}/api/v1/tasks`, { headers: { authorization: `Bearer ${world.token()}` } });
  same((await answer.json()).map((task) => [task.title, task.project_id]), [['Here', 2], ['There', 1]], 'whose task it is');
});
