// BullMQ: records and results are kept; results are pushed to the client by a stream of events.
'use strict';
const { Queue, QueueEvents, Worker } = require('bullmq');
const [role, address, count] = process.argv.slice(2);
const url = new URL(address);
const connection = { host: url.hostname, port: Number(url.port), maxRetriesPerRequest: null };
const SLOTS = 64, WINDOW = 1000, BATCH = 100;

function quantile(times, percent) {
  return times[Math.floor(times.length * percent / 100)];
}

async function main() {
  if (role === 'worker') {
    new Worker('bench', async (job) => job.data.a + job.data.b, { connection, concurrency: SLOTS });
    return;
  }
  const queue = new Queue('bench', { connection });
  const events = new QueueEvents('bench', { connection });
  events.setMaxListeners(0);
  await events.waitUntilReady();
  const trip = async (n) => {
    const job = await queue.add('add', { a: n, b: 1 });
    await job.waitUntilFinished(events);
  };
  if (role === 'trips') {
    for (let n = 0; n < count / 10; n++) await trip(n);
    const times = [];
    for (let n = 0; n < count; n++) {
      const begun = process.hrtime.bigint();
      await trip(n);
      times.push(Number(process.hrtime.bigint() - begun) / 1000);
    }
    times.sort((a, b) => a - b);
    console.log(`p50 ${quantile(times, 50)}\np99 ${quantile(times, 99)}`);
  } else {
    const begun = process.hrtime.bigint();
    let sent = 0, waiting = 0;
    const all = [];
    while (sent < count) {
      const size = Math.min(BATCH, count - sent);
      const batch = Array.from({ length: size }, (_, n) => ({ name: 'add', data: { a: sent + n, b: 1 } }));
      sent += size;
      waiting += size;
      for (const job of await queue.addBulk(batch)) all.push(job.waitUntilFinished(events).then(() => { waiting--; }));
      while (waiting + BATCH > WINDOW) await new Promise(setImmediate);
    }
    await Promise.all(all);
    console.log(`seconds ${Number(process.hrtime.bigint() - begun) / 1e9}`);
  }
  process.exit(0);
}
main();
