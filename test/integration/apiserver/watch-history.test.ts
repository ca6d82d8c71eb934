/**
 * Two hundred watchers and thousands of random writes through three servers, while servers are killed, stop and return,
 * etcd is killed and returns, and history is compacted repeatedly. Each watcher must receive exactly etcd's history over all
 * its connections, and every acknowledged write must be in that history.
 *
 *     node dist/test/integration/apiserver/watch-history.test.js writes=100000 seed=7
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import { withEtcd } from '#test/integration/apiserver/spec/spec-server.js';
import type { Report } from '#test/integration/apiserver/watch-history/scenario.js';

const argument = (name: string, otherwise: number): number =>
  Number(process.argv.find((text) => text.startsWith(`${name}=`))?.slice(name.length + 1) ?? otherwise);

const writes = argument('writes', 8_000);
const seed = argument('seed', Math.floor(Math.random() * 2 ** 31));

const patienceMs = 3_600_000;
t.setTimeout(patienceMs);

t.test(`watchers lose no event, seed ${seed}`, { ...withEtcd, timeout: patienceMs }, async (t) => {
  t.comment(`seed=${seed} writes=${writes}`);
  const child = fork(new URL('./watch-history/scenario.js', import.meta.url), [String(writes), String(seed)]);
  t.teardown(() => child.kill());
  const exited = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`ended with ${code ?? signal} without a report`);
  });
  const [report] = (await Promise.race([once(child, 'message'), exited])) as [Report];
  exited.catch(() => undefined);
  t.same(report.wrong, [], `${report.wrongCount} watchers received other events`);
  t.same(report.lost, [], 'every acknowledged write is in etcd');
  t.ok(report.acknowledged >= writes && report.changes >= report.acknowledged, 'all writes are done');
  const { changes, events, connections } = report;
  t.comment(`${changes} changes, ${events} events received over ${connections} connections`);
});
