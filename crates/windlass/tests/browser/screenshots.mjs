// Screenshots and an audit of every view, with a full board, in both themes, at desktop and phone size.

import { audit } from './audit.mjs';
import { assertEqual, screenshot, test, waitForLoaded } from './harness.mjs';

const TASKS = [
  ['Greet the world where no name is given', '--description', '`greet.sh` prints `Hello, !` when it is called without a name.\n\n- greet the world then\n- leave the other greetings as they are'],
  ['Say goodbye as well', '--after', '1'],
  ['Ask which database to use'],
  ['Import the old address book', '--priority', '1', '--description', 'One name on each line of `names.txt`. Greet each of them once.'],
  ['Warn when a name is spelled wrongly', '--after', '4'],
  ['Greet in the language of the caller', '--after', '4', '--priority', '3'],
  ['Rewrite the greeter in assembly'],
];
const VIEWS = ['/', '/tasks/1', '/tasks/1/changes', '/tasks/1/tests', '/tasks/1/attempts', '/tasks/1/traces', '/tasks/4', '/goals', '/goals/4', '/landings', '/inbox', '/agents', '/traces', '/usage', '/evaluations', '/projects', '/unknown', '/tasks/abc'];
const SIZES = [['desktop', { width: 1440, height: 900 }], ['phone', { width: 390, height: 844, scale: 2 }]];

await test(async ({ app, browser }) => {
  await app.serve('--concurrency', '5');
  for (const task of TASKS) await app.run('task', 'add', ...task);
  const page = await browser.open({ width: 1440, height: 900 });
  await page.locator('[data-column="blocked"] .card[data-id="3"]').waitFor();
  await page.locator('[data-column="completed"] .card[data-id="2"]').waitFor();
  await page.locator('[data-column="in_progress"] .card[data-id="4"] .activity', { hasText: 'Bash' }).waitFor();
  await app.run('task', 'cancel', '7');
  await page.locator('[data-column="failed"] .card[data-id="7"]').waitFor();

  for (const theme of ['light', 'dark']) {
    for (const [size, viewport] of SIZES) {
      const themedPage = await browser.open({ theme, ...viewport });
      for (const view of VIEWS) {
        await browser.navigate(themedPage, view);
        await waitForLoaded(themedPage);
        if (['/unknown', '/tasks/abc'].includes(view)) await themedPage.getByRole('heading', { name: 'Page not found' }).waitFor();
        if (view === '/tasks/1') await themedPage.locator('.proof').waitFor();
        await screenshot(themedPage, `${size}-${theme}${view === '/' ? '-board' : view.replaceAll('/', '-')}`);
        assertEqual(await themedPage.evaluate(audit), [], `${view} at ${size} size, ${theme}`);
      }
      await browser.navigate(themedPage, '/');
      await themedPage.getByRole('button', { name: 'New task' }).click();
      await screenshot(themedPage, `${size}-${theme}-new`);
      assertEqual(await themedPage.evaluate(audit), [], `new task dialog at ${size} size, ${theme}`);
      await themedPage.keyboard.press('Escape');
    }
  }

  // The theme button: the system's theme first, then the chosen theme, which is kept.
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await background();
  await page.getByRole('button', { name: /Theme/ }).click();
  await page.getByRole('button', { name: /Theme/ }).click();
  const dark = await background();
  await page.reload();
  await page.locator('.board').waitFor();
  assertEqual([light === dark, await background() === dark], [false, true], 'the chosen theme is kept after a reload');

  // Without a token, only the sign-in page is shown.
  const visitor = await browser.open({ signIn: false });
  visitor.monitor.expectUnauthorized = true;
  await visitor.goto(app.url);
  await visitor.getByLabel('Link or token').fill('wrong');
  await visitor.getByRole('button', { name: 'Sign in' }).click();
  await visitor.getByText('Invalid token.').waitFor();
  await screenshot(visitor, 'desktop-light-login');
  await visitor.getByLabel('Link or token').fill(`${app.url}/#token=${app.token()}`);
  await visitor.getByRole('button', { name: 'Sign in' }).click();
  await visitor.locator('.board').waitFor();
});
