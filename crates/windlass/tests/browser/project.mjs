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
  for (const [title, project] of [['First', null], ['Second', 'other']]) {
    await page.keyboard.press('n');
    await page.getByLabel('Title').fill(title);
    if (project) await page.getByLabel('Project', { exact: true }).last().selectOption({ label: project });
    await page.keyboard.press('Control+Enter');
    await page.locator('.card', { hasText: title }).waitFor();
    await page.locator('dialog').waitFor({ state: 'detached' });
  }
  const response = await fetch(`${app.url}/api/v1/tasks`, { headers: { authorization: `Bearer ${app.token()}` } });
  assertEqual((await response.json()).map((task) => [task.title, task.project_id]), [['First', 2], ['Second', 1]], 'the project of each task');

  // The switch shows how much is open, and applies to every view and after a reload.
  const titles = () => page.locator('.card h3').allInnerTexts();
  const projects = page.locator('.project-select');
  assertEqual(await projects.locator('option').allInnerTexts(), ['All projects (2 open)', 'other (1 open)', 'project (1 open)'], 'the projects with their numbers');
  await projects.selectOption({ label: 'other (1 open)' });
  await page.locator('.card[data-id="1"]').waitFor({ state: 'detached' });
  assertEqual(await titles(), ['Second'], 'the tasks of the selected project');
  await page.reload();
  await page.locator('.card[data-id="2"]').waitFor();
  assertEqual(await titles(), ['Second'], 'the selection is kept');
  await browser.navigate(page, '/projects');
  assertEqual(await page.locator('.project h2').allInnerTexts(), ['other', 'project'], 'all projects have a card');
  await page.getByRole('button', { name: 'Board of all projects' }).click();
  await page.locator('.card[data-id="1"]').waitFor();
  assertEqual((await titles()).sort(), ['First', 'Second'], 'the tasks of all projects');
  assertEqual(await page.locator('.card[data-id="2"]').locator('.project').innerText(), 'other', 'a card names its project');
});
