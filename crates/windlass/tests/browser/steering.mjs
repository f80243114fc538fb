// Goals and steering: the graph of a goal, edits, priorities by keyboard and by mouse, actions on several tasks, pauses
// and notes.

import { audit } from './audit.mjs';
import { assert, assertEqual, screenshot, test } from './harness.mjs';

await test(async ({ app, browser }) => {
  await app.serve('--no-worker');
  const tasks = [['Draw the plan'], ['Lay the keel', '--after', '1'], ['Raise the mast', '--after', '1'], ['Set sail \u202e backwards', '--after', '2', '--after', '3'], ['Paint the hull']];
  for (const task of tasks) await app.run('task', 'add', ...task);
  const page = await browser.open({ width: 1440, height: 900 });
  // Another client of the same server.
  const call = async (path, method = 'GET', body = undefined) => {
    const response = await fetch(`${app.url}/api/v1${path}`, {
      method, body: body && JSON.stringify(body), headers: { authorization: `Bearer ${app.token()}`, 'content-type': 'application/json' },
    });
    return response.json();
  };
  const stored = (id) => call(`/tasks/${id}`);
  const card = (id) => page.locator(`.card[data-id="${id}"]`);

  // The goal: a graph with the status in words.
  await browser.navigate(page, '/goals');
  await page.locator('.goal').click();
  assertEqual(await page.locator('.graph-node').count(), 4, 'the tasks of the goal');
  assertEqual(await page.locator('.graph-lines path.open').count(), 8, 'four dependencies, each a line with an arrow');
  const boxes = await page.locator('.graph-node').evaluateAll((nodes) => nodes.map((node) => [Number(node.dataset.id), node.getBoundingClientRect().x, node.innerText]));
  const x = new Map(boxes.map(([id, left]) => [id, left]));
  assert(x.get(1) < x.get(2) && x.get(2) === x.get(3) && x.get(3) < x.get(4), `layers from left to right: ${JSON.stringify(boxes)}`);
  assert(boxes.every(([, , text]) => text.includes('Pending')), 'the status is not shown by color alone');
  assert(boxes.some(([, , text]) => text.includes('\\u{202e}')), 'hidden characters are escaped');
  await screenshot(page, 'goal-graph');
  assertEqual(await page.evaluate(audit), [], 'the goal');

  // An edit, and one that comes too late.
  await browser.navigate(page, '/');
  await card(5).focus();
  await page.keyboard.press('e');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Title').fill('Paint the hull blue');
  await dialog.getByLabel('Depends on').fill('#4');
  await screenshot(page, 'edit-task');
  assertEqual(await page.evaluate(audit), [], 'the edit dialog');
  await call('/tasks/5', 'PATCH', { priority: 3 });
  page.monitor.expectConflict = true;
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('Save again').waitFor();
  page.monitor.expectConflict = false;
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  const edited = await stored(5);
  assertEqual([edited.title, edited.priority, edited.dependencies], ['Paint the hull blue', 3, [4]], 'both edits are kept');

  // The priority, by keyboard and by dragging onto another card.
  await card(3).focus();
  await page.keyboard.press('+');
  await card(3).locator('.priority', { hasText: 'P1' }).waitFor();
  assertEqual((await stored(3)).priority, 1, 'the priority by keyboard');
  await card(2).dragTo(card(3));
  await card(2).locator('.priority', { hasText: 'P1' }).waitFor();
  assertEqual((await stored(2)).priority, 1, 'the priority by mouse');

  // Several tasks at once.
  for (const id of [2, 3]) {
    await card(id).focus();
    await page.keyboard.press('s');
  }
  const bulk = page.getByRole('toolbar', { name: 'Selected tasks' });
  await bulk.getByText('2 selected').waitFor();
  await screenshot(page, 'bulk');
  assertEqual(await page.evaluate(audit), [], 'the selection');
  await bulk.getByRole('button', { name: 'Pause' }).click();
  await card(2).getByText('paused').waitFor();
  assertEqual([(await stored(2)).paused, (await stored(3)).paused], [true, true], 'both are paused');
  await page.getByLabel('Select task 2').check();
  await bulk.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel 1 task' }).click();
  await page.locator('[data-column="failed"] .card[data-id="2"]').waitFor();
  // A cancelled task goes back to the queue by dragging it there.
  await card(2).dragTo(page.locator('[data-column="pending"] header'));
  await page.locator('[data-column="pending"] .card[data-id="2"]').waitFor();

  // Workers and notes.
  await page.getByRole('button', { name: 'Pause workers' }).click();
  await page.getByRole('button', { name: 'Resume workers' }).waitFor();
  assertEqual((await call('/worker')).pauses.length, 1, 'the pause is stored');
  await page.getByRole('button', { name: 'Resume workers' }).click();
  await page.getByRole('button', { name: 'Pause workers' }).waitFor();
  await browser.navigate(page, '/projects');
  await page.getByRole('button', { name: 'Note' }).click();
  await page.getByRole('dialog').getByLabel('Note').fill('Use **tabs**.');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.locator('.project-note strong', { hasText: 'tabs' }).waitFor();
  await page.reload();
  await page.locator('.project-note strong', { hasText: 'tabs' }).waitFor();
});
