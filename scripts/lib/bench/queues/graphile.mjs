// Adds jobs with graphile-worker, takes them without doing any work, and prints jobs per second.

import { makeWorkerUtils, run } from "graphile-worker";

const connectionString = process.env.DATABASE_URL;
const jobs = Number(process.argv[2]);
const rates = {};
const quiet = { debug() {}, info() {}, warn() {}, error: console.error };
const logger = { scope: () => logger, ...quiet, log() {} };

const utils = await makeWorkerUtils({ connectionString, logger, maxPoolSize: 16 });
await utils.migrate();

async function add(clients) {
  const started = performance.now();
  const one = async () => {
    for (let job = 0; job < jobs / clients; job++) await utils.addJob("nothing", { job });
  };
  await Promise.all(Array.from({ length: clients }, one));
  return jobs / ((performance.now() - started) / 1000);
}

async function take(concurrency) {
  let left = jobs;
  let done;
  const all = new Promise((resolve) => (done = resolve));
  const nothing = async () => {
    left -= 1;
    if (left === 0) done();
  };
  const started = performance.now();
  const runner = await run({ connectionString, logger, concurrency, taskList: { nothing }, noHandleSignals: true });
  await all;
  const rate = jobs / ((performance.now() - started) / 1000);
  await runner.stop();
  return rate;
}

for (const clients of [1, 16]) {
  rates[`added by ${clients}`] = await add(clients);
  rates[`claimed and finished by ${clients}`] = await take(clients);
}
await utils.release();
console.log(JSON.stringify(rates));
