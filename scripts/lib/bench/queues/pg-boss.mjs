// Adds jobs with pg-boss, takes them one by one without doing any work, and prints jobs per second.

import * as module from "pg-boss";

const PgBoss = module.PgBoss ?? module.default;
const jobs = Number(process.argv[2]);
const rates = {};
const boss = new PgBoss({ connectionString: process.env.DATABASE_URL, max: 16, supervise: false, schedule: false });
boss.on("error", console.error);
await boss.start();
await boss.createQueue("nothing");

async function each(clients, work) {
  const started = performance.now();
  const one = async () => {
    for (let job = 0; job < jobs / clients; job++) await work(job);
  };
  await Promise.all(Array.from({ length: clients }, one));
  return jobs / ((performance.now() - started) / 1000);
}

for (const clients of [1, 16]) {
  rates[`added by ${clients}`] = await each(clients, (job) => boss.send("nothing", { job }));
  rates[`claimed and finished by ${clients}`] = await each(clients, async () => {
    const [job] = await boss.fetch("nothing");
    await boss.complete("nothing", job.id);
  });
}
await boss.stop({ graceful: false });
console.log(JSON.stringify(rates));
