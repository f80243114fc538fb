// A token with the scope read signs in and sees everything. What needs another scope is disabled and says why.

import { assert, assertEqual, test } from './harness.mjs';

const why = (scope) => `The token "reader" does not have the scope ${scope}.`;

async function assertDisabled(control, scope, name) {
  await control.waitFor();
  assert(await control.isDisabled(), `${name} is disabled`);
  assertEqual(await control.getAttribute('title'), why(scope), `${name} says why`);
}

async function signIn(page, token) {
  await page.getByLabel('Link or token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

await test(async ({ app, browser }) => {
  await app.serve();
  await app.run('task', 'add', 'Greet the world');
  const owner = await browser.open();
  await owner.locator('[data-column="blocked"] .card').waitFor();
  assert(await owner.getByRole('button', { name: 'New task' }).first().isEnabled(), 'the owner can add tasks');

  const reader = (await app.run('token', 'create', 'reader', '--scope', 'read')).trim();
  const models = (await app.run('token', 'create', 'models', '--scope', 'models')).trim();
  const page = await browser.open({ signIn: false });
  page.monitor.expectUnauthorized = true;
  await page.goto(app.url);
  await signIn(page, models);
  await page.getByText('does not have the scope read').waitFor();
  await signIn(page, reader);
  await page.locator('.connection[data-connection="live"]').waitFor();
  await assertDisabled(page.getByRole('button', { name: 'New task' }).first(), 'work', 'New task');
  await page.keyboard.press('n');
  assertEqual(await page.getByRole('dialog').count(), 0, 'the shortcut does nothing');
  await browser.navigate(page, '/inbox');
  await assertDisabled(page.locator('[data-blocker]').getByRole('button', { name: 'Answer' }), 'approve', 'Answer');
  await browser.navigate(page, '/tasks/1');
  await assertDisabled(page.locator('[data-action="cancel"]'), 'approve', 'Cancel');
  await assertDisabled(page.locator('[data-action="retry"]'), 'work', 'Retry');

  // A revoked token ends the session: the page asks for another one.
  page.monitor.expectOutage = true;
  await app.run('token', 'revoke', 'reader');
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
});
