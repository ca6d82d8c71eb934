import { spawn } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { eventLoopTurn, VirtualClock } from '#client/testing/virtual-clock.js';
import { keptForPods, type Part } from '#cluster/config/cluster-context.js';
import { identify, isRunning, stopProcess } from '#cluster/process/identity.js';
import { untilDone } from '#cluster/supervise/stall-timeout.js';
import { PartGroup, stopParts } from '#cluster/supervise/stop-parts.js';
import { progressPrinter } from '#cluster/terminal/progress.js';
import { silentLogger } from '#daemon/log/logger.js';

t.test('parts stop one by one, and a part that hangs does not delay the next ones', async (t) => {
  const clock = new VirtualClock();
  const seen: string[] = [];
  const part = (name: string, close: () => Promise<void> = async () => undefined): Part => ({
    name,
    close: () => {
      seen.push(`close ${name}`);
      return close();
    },
  });
  const group = new PartGroup('group');
  for (const name of ['a', 'b']) group.push(part(name, () => clock.sleep(1000)));
  const parts = [
    part('first'),
    part('hangs', () => new Promise(() => undefined)),
    part('fails', () => Promise.reject(new Error('no'))),
    group,
  ];
  const onStopping = (name: string) => seen.push(name);
  const stopped = stopParts(parts, { clock, log: silentLogger, limitMs: 5000, onStopping });
  await eventLoopTurn();
  t.same(seen, ['group', 'close a', 'close b'], 'parts of a group stop at the same time');
  await clock.advance(1000);
  await eventLoopTurn();
  t.same(seen.slice(3), ['fails', 'close fails', 'hangs', 'close hangs']);
  await clock.advance(5000);
  await stopped;
  t.same(seen.slice(7), ['first', 'close first']);
});

t.test('parts that pods need can stay', async (t) => {
  const seen: string[] = [];
  const closed = (name: string): Part => ({ name, close: async () => void seen.push(`close ${name}`) });
  const left = { ...closed('runtime'), leave: async () => void seen.push('leave runtime') };
  const group = new PartGroup('group');
  group.push(left);
  const kept = keptForPods('rules', async () => void seen.push('close rules'));
  const parts = [closed('etcd'), left, group, kept];
  const options = { clock: new VirtualClock(), log: silentLogger, limitMs: 5000 };
  await stopParts(parts, { ...options, leavesPods: true });
  t.same(seen.splice(0), ['leave runtime', 'leave runtime', 'close etcd']);
  await stopParts(parts, options);
  t.same(seen, ['close rules', 'close runtime', 'close runtime', 'close etcd']);
});

t.test('parts stop although their names cannot be recorded', async (t) => {
  let closed = 0;
  const part: Part = { name: 'part', close: async () => void closed++ };
  const onStopping = () => {
    throw new Error('no space left on device');
  };
  await stopParts([part, part], { clock: new VirtualClock(), log: silentLogger, limitMs: 5000, onStopping });
  t.equal(closed, 2);
});

t.test('polling continues while there is progress', async (t) => {
  const clock = new VirtualClock();
  const reports: string[] = [];
  let state = { done: false, waitingFor: 'its port', progress: '0' };
  const wait = (limitMs: number) =>
    untilDone({
      clock,
      look: async () => state,
      pollMs: 100,
      stallMs: 2000,
      limitMs,
      onWaiting: (what) => reports.push(what),
    });
  const done = wait(60_000);
  for (let i = 1; i <= 20; i++) {
    state = { ...state, progress: String(i) };
    await clock.advance(1000);
  }
  state = { ...state, done: true };
  await clock.advance(200);
  await done;
  t.same(reports.slice(0, 3), ['its port', 'its port', 'its port']);
  state = { ...state, done: false, waitingFor: 'its checks etcd' };
  const quiet = t.rejects(wait(60_000), { message: /^waited 2 s for its checks etcd$/ });
  await clock.advance(3000);
  await quiet;
  const limited = t.rejects(wait(3000), { message: /^waited 3 s for its checks etcd$/ });
  for (let i = 1; i <= 8; i++) {
    state = { ...state, progress: `more ${i}` };
    await clock.advance(500);
  }
  await limited;
});

t.test('a process that ignores SIGTERM is killed', async (t) => {
  const script = 'process.on("SIGTERM", () => undefined); setInterval(() => undefined, 1000); console.log("ready")';
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  t.teardown(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  const identity = identify(child.pid ?? 0);
  t.ok(identity);
  if (identity === undefined) return;
  const waited: number[] = [];
  await stopProcess(identity, realClock, 1200, (ms) => waited.push(ms));
  t.equal((await exited)[1], 'SIGKILL');
  t.equal(isRunning(identity), false);
  t.ok(waited.length > 0, 'the wait is reported');
});

t.test('progress shows what a step waits for', (t) => {
  let text = '';
  const clock = new VirtualClock();
  const output = { write: (part: string) => (text += part) };
  const show = progressPrinter(output, clock);
  show({ step: 'cluster stopped', state: 'started' });
  show({ step: 'cluster stopped', state: 'waiting', note: 'process 7, which stops its daemons' });
  show({ step: 'cluster stopped', state: 'done' });
  t.equal(text, '  … cluster stopped: process 7, which stops its daemons\n  ✓ cluster stopped 0.0s\n');
  t.end();
});
