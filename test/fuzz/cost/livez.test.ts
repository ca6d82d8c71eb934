/** The largest requests must not delay others: another thread polls /livez continuously. */
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { largestBodies } from '#test/fuzz/cost/bodies.js';
import { changesOfLarge } from '#test/fuzz/cost/changes.js';
import { call, callHttps, runServer } from '#test/integration/apiserver/server.js';

/** Longest wait on an idle machine. */
const maxWaitMs = 200;
/** Other tests share the processors: a wait is measured repeatedly, and fails at twice the limit. */
const attempts = 6;
const failsMs = 2 * maxWaitMs;

/** Polls over one connection, and reports on request the longest wait since the last report. */
const probe = `
const { parentPort, workerData } = require('node:worker_threads');
const { Agent, get } = require('node:https');
const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
let longest = 0;
let since = performance.now();
const ask = () => {
  since = performance.now();
  get({ host: '127.0.0.1', port: workerData, path: '/livez', agent }, (response) => {
    response.resume();
    response.on('end', () => {
      longest = Math.max(longest, performance.now() - since);
      setTimeout(ask, 2);
    });
  });
};
ask();
parentPort.on('message', () => {
  parentPort.postMessage(longest);
  longest = 0;
});
`;

t.setTimeout(300_000);

t.test('the largest requests do not block others', { timeout: 300_000 }, async (t) => {
  const { server, stop } = await runServer({ https: true, unfrozen: true });
  t.teardown(stop);
  await call(server, 'POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } });
  const worker = new Worker(probe, { eval: true, workerData: server.address?.port });
  t.teardown(() => worker.terminate());
  const longestWait = () =>
    new Promise<number>((resolve) => {
      worker.once('message', resolve);
      worker.postMessage('');
    });
  await callHttps(server, 'GET', '/livez');
  const bodies = { ...largestBodies(kubernetesDialect), ...(await changesOfLarge(server, kubernetesDialect, 64_000)) };
  for (const [name, { method, url, headers = {}, body }] of Object.entries(bodies)) {
    let best = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < attempts && best > maxWaitMs; attempt++) {
      await longestWait();
      const before = process.cpuUsage();
      const started = performance.now();
      const answer = await server.handler({
        method,
        url,
        headers,
        body: body ?? Buffer.alloc(0),
        remoteAddress: '127.0.0.1',
        signal: new AbortController().signal,
      });
      if (answer.status >= 500) t.fail(`${name}: ${answer.status}`);
      const { user, system } = process.cpuUsage(before);
      // A shared processor slows everything down by the same factor.
      const shared = Math.max(1, (performance.now() - started) / ((user + system) / 1000));
      best = Math.min(best, (await longestWait()) / shared);
    }
    t.comment(`${name}: ${best.toFixed(0)} ms`);
    t.ok(best <= failsMs, `${name}: /livez waited ${best.toFixed(0)} ms`);
  }
});
