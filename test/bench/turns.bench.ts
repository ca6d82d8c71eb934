/**
 * The longest event loop turn of each of the largest requests; the best of several runs, because disturbances only add.
 */
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { figure, machineLine } from '#test/bench/report.js';
import { largestRequests, referenceMs } from '#test/fuzz/cost/largest.js';
import { costOf } from '#test/fuzz/cost/meter.js';
import { ThreadTime } from '#test/fuzz/cost/thread-time.js';

const limitMs = 50;
const attempts = 8;
const ms = (value: number): string => `${value.toFixed(1)} ms`;

process.stdout.write(`${machineLine()}\n`);
const thread = new ThreadTime();
const { server, requests, stop } = await largestRequests(kubernetesDialect);
const over: string[] = [];
let reference = Number.POSITIVE_INFINITY;
for (const [name, request] of Object.entries(requests)) {
  let best = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < attempts; attempt++) {
    reference = Math.min(reference, referenceMs(thread));
    best = Math.min(best, (await costOf(server, request)).turnMs);
  }
  figure(name, ms(best), ms(limitMs));
  if (best > limitMs) over.push(name);
}
figure('a map that is read, copied, looked at and written', ms(reference));
thread.close();
await stop();
if (over.length > 0) {
  process.stdout.write(`over the limit: ${over.join(', ')}\n`);
  process.exitCode = 1;
}
