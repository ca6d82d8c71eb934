import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { type QueuedPod, SchedulingQueue } from '#scheduler/queue/scheduling-queue.js';

function pod(name: string, priority = 0): Pod {
  return { metadata: { name, namespace: 'default', uid: `uid-${name}` }, spec: { containers: [], priority } };
}

async function take(queue: SchedulingQueue): Promise<QueuedPod> {
  const queued = await queue.next();
  if (queued === undefined) throw new Error('the queue is closed');
  return queued;
}

t.test('orders pods by priority, then by age', async (t) => {
  const clock = new VirtualClock();
  const queue = new SchedulingQueue({ clock });
  queue.add(pod('old'));
  await clock.advance(5);
  queue.add(pod('young'));
  queue.add(pod('important', 10));
  const order = [];
  for (let i = 0; i < 3; i++) order.push((await take(queue)).info.pod.metadata.name);
  t.same(order, ['important', 'old', 'young']);
});

t.test('a waiting consumer is woken', async (t) => {
  const queue = new SchedulingQueue({ clock: new VirtualClock() });
  const next = queue.next();
  queue.add(pod('a'));
  t.equal((await next)?.info.key, 'default/a');
});

t.test('close ends the wait', async (t) => {
  const queue = new SchedulingQueue({ clock: new VirtualClock() });
  const next = queue.next();
  queue.close();
  t.equal(await next, undefined);
});

t.test('a rejected pod waits for an event of its plugins and for its back-off', async (t) => {
  const clock = new VirtualClock();
  const queue = new SchedulingQueue({ clock });
  queue.add(pod('a'));
  const first = await take(queue);
  queue.reject(first, new Set(['NodeAdd']), first.info.pod);
  t.same(queue.sizes, { active: 0, backoff: 0, unschedulable: 1 });
  queue.notify(['NodeTaintChange']);
  t.same(queue.sizes, { active: 0, backoff: 0, unschedulable: 1 }, 'an unrelated event changes nothing');
  queue.notify(['NodeAdd']);
  t.same(queue.sizes, { active: 0, backoff: 1, unschedulable: 0 });
  await clock.advance(999);
  t.same(queue.sizes, { active: 0, backoff: 1, unschedulable: 0 });
  await clock.advance(1);
  t.same(queue.sizes, { active: 1, backoff: 0, unschedulable: 0 });
  t.equal((await take(queue)).attempts, 2);
});

t.test('back-off doubles up to ten seconds', async (t) => {
  const clock = new VirtualClock();
  const queue = new SchedulingQueue({ clock });
  queue.add(pod('a'));
  const waits: number[] = [];
  for (let attempt = 0; attempt < 6; attempt++) {
    const queued = await take(queue);
    queue.reject(queued, new Set(), queued.info.pod);
    const before = clock.now();
    while (queue.sizes.active === 0) await clock.advance(500);
    waits.push(clock.now() - before);
  }
  t.same(waits, [1000, 2000, 4000, 8000, 10_000, 10_000]);
});

t.test('an event during the attempt is not missed', async (t) => {
  const queue = new SchedulingQueue({ clock: new VirtualClock() });
  queue.add(pod('a'));
  const queued = await take(queue);
  queue.notify(['NodeAdd']);
  queue.reject(queued, new Set(['NodeAdd']), queued.info.pod);
  t.same(queue.sizes, { active: 0, backoff: 1, unschedulable: 0 });
});

t.test('an unschedulable pod is retried after five minutes without events', async (t) => {
  const clock = new VirtualClock();
  const queue = new SchedulingQueue({ clock });
  queue.add(pod('a'));
  const queued = await take(queue);
  queue.reject(queued, new Set(['NodeAdd']), queued.info.pod);
  await clock.advance(299_000);
  t.equal(queue.sizes.unschedulable, 1);
  await clock.advance(2000);
  t.equal(queue.sizes.active, 1);
  queue.close();
  t.equal(clock.pendingTimers, 0);
});

t.test('a deleted pod is not queued again, and a removed one is not handed out', async (t) => {
  const queue = new SchedulingQueue({ clock: new VirtualClock() });
  queue.add(pod('a'));
  const queued = await take(queue);
  queue.reject(queued, new Set(['NodeAdd']), undefined);
  queue.add(pod('b'));
  queue.remove(pod('b'));
  t.same(queue.sizes, { active: 0, backoff: 0, unschedulable: 0 });
});

t.test('a changed spec triggers an attempt, a changed status does not', async (t) => {
  const clock = new VirtualClock();
  const queue = new SchedulingQueue({ clock });
  queue.add(pod('a'));
  const queued = await take(queue);
  queue.reject(queued, new Set(['NodeAdd']), queued.info.pod);
  await clock.advance(5000);
  queue.update(pod('a'), false);
  t.equal(queue.sizes.unschedulable, 1);
  queue.update(pod('a', 3), true);
  t.equal((await take(queue)).info.priority, 3);
});

/** A clock whose wall clock can be set. */
class SettableClock extends VirtualClock {
  offsetMs = 0;

  override now(): number {
    return super.now() + this.offsetMs;
  }
}

t.test('setting the wall clock changes no wait', async (t) => {
  for (const offsetMs of [-3_600_000, 3_600_000]) {
    const clock = new SettableClock();
    const queue = new SchedulingQueue({ clock });
    queue.add(pod('a'));
    const first = await take(queue);
    queue.reject(first, new Set(['NodeAdd']), first.info.pod);
    clock.offsetMs = offsetMs;
    queue.notify(['NodeAdd']);
    t.same(queue.sizes, { active: 0, backoff: 1, unschedulable: 0 });
    await clock.advance(1000);
    t.same(queue.sizes, { active: 1, backoff: 0, unschedulable: 0 });
  }
});
