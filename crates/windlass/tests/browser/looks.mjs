// A full board in both themes, on a desk and on a phone: pictures for people, and an audit of every view.

import { audit } from './audit.mjs';
import { same, settled, shot, test } from './world.mjs';

const WISHES = [
  ['Greet the world where no name is given', '--description', '`greet.sh` prints `Hello, !` when it is called without a name.\n\n- greet the world then\n- leave the other greetings as they are'],
  ['Say goodbye as well', '--after', '1'],
  ['Ask which database to use'],
  ['Import the old address book', '--priority', '1', '--description', 'One name on each line of `names.txt`. Greet each of them once.'],
  ['Warn when a name is spelled wrongly', '--after', '4'],
  ['Greet in the language of the caller', '--after', '4', '--priority', '3'],
  ['Rewrite the greeter in assembly'],
];
const VIEWS = ['/', '/tasks/1', '/tasks/1/changes', '/tasks/1/tests', '/tasks/1/attempts', '/tasks/1/traces', '/tasks/4', '/inbox', '/agents', '/traces', '/usage', '/nowhere', '/tasks/abc'];
const SIZES = [['desk', { width: 1440, height: 900 }], ['phone', { width: 390, height: 844, scale: 2 }]];

await test(async ({ world, browser }) => {
  await world.serve('--concurrency', '5');
  for (const wish of WISHES) await world.run('task', 'add', ...wish);
  const page = await browser.open({ width: 1440, height: 900 });
  await page.locator('[data-column="blocked"] .card[data-id="3"]').waitFor();
  await page.locator('[data-column="completed"] .card[data-id="2"]').waitFor();
  await page.locator('[data-column="in_progress"] .card[data-id="4"] .live', { hasText: 'Bash' }).waitFor();
  await world.run('task', 'cancel', '7');
  await page.locator('[data-column="failed"] .card[data-id="7"]').waitFor();

  for (const theme of ['light', 'dark']) {
    for (const [size, shape] of SIZES) {
      const looked = await browser.open({ theme, ...shape });
      for (const view of VIEWS) {
        await browser.go(looked, view);
        await settled(looked);
        if (['/nowhere', '/tasks/abc'].includes(view)) await looked.getByRole('heading', { name: 'There is nothing at this address' }).waitFor();
        if (view === '/tasks/1') await looked.locator('.proof').waitFor();
        await shot(looked, `${size}-${theme}${view === '/' ? '-board' : view.replaceAll('/', '-')}`);
        same(await looked.evaluate(audit), [], `${view} at ${size} size, ${theme}`);
      }
      await browser.go(looked, '/');
      await looked.getByRole('button', { name: 'New task' }).click();
      await shot(looked, `${size}-${theme}-new`);
      same(await looked.evaluate(audit), [], `a new task at ${size} size, ${theme}`);
      await looked.keyboard.press('Escape');
    }
  }

  // The switch: what the system says, then what was chosen, which stays.
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await ground();
  await page.getByRole('button', { name: /Theme/ }).click();
  await page.getByRole('button', { name: /Theme/ }).click();
  const dark = await ground();
  await page.reload();
  await page.locator('.board').waitFor();
  same([light === dark, await ground() === dark], [false, true], 'the chosen theme is there after a reload');

  // Without a token there is a door, and nothing behind it.
  const stranger = await browser.open({ enter: false });
  stranger.watched.expectRefusals = true;
  await stranger.goto(world.url);
  await stranger.getByLabel('Link or token').fill('wrong');
  await stranger.getByRole('button', { name: 'Open' }).click();
  await stranger.getByText('That is not the token of this server.').waitFor();
  await shot(stranger, 'desk-light-door');
  await stranger.getByLabel('Link or token').fill(`${world.url}/#token=${world.token()}`);
  await stranger.getByRole('button', { name: 'Open' }).click();
  await stranger.locator('.board').waitFor();
});
