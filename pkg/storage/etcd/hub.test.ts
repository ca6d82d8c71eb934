import t from 'tap';
import { eventLoopTurn, VirtualClock } from '#client/testing/virtual-clock.js';
import type { UpstreamBatch } from '#storage/etcd/hub.js';
import { Hub } from '#storage/etcd/hub.js';
import { prefixEnd } from '#storage/sorted-map.js';
import type { Revision, StoreEvent, WatchMessage } from '#storage/store.js';

const root = '/registry/';
const nothing = Buffer.alloc(0);

/** A store history with any number of readers. */
class History {
  readonly #events: StoreEvent[] = [];
  #wake: (() => void)[] = [];
  /** Start revisions of the readers. */
  readonly begun: Revision[] = [];

  get revision(): Revision {
    return BigInt(this.#events.length);
  }

  put(key: string): Revision {
    const modRevision = this.revision + 1n;
    this.#events.push({ type: 'put', kv: { key, value: nothing, modRevision }, created: true });
    this.#wakeAll();
    return modRevision;
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  readonly follow = async function* (this: History, from: Revision, signal: AbortSignal) {
    this.begun.push(from);
    signal.addEventListener('abort', () => this.#wakeAll(), { once: true });
    for (let next = from; !signal.aborted; ) {
      if (next > this.revision) await new Promise<void>((resolve) => this.#wake.push(resolve));
      const events = this.#events.slice(Number(next) - 1);
      if (events.length === 0) continue;
      next = this.revision + 1n;
      yield { events, revision: next - 1n } satisfies UpstreamBatch;
    }
  }.bind(this);
}

function hubOver(history: History, queueSize = 100) {
  const hub = new Hub({
    start: root,
    end: prefixEnd(root),
    clock: new VirtualClock(),
    follow: history.follow,
    seen: () => history.revision,
    currentRevision: () => Promise.resolve(history.revision),
    writeProgress: () => Promise.resolve(history.put(`${root}progress`)),
    queueSize,
  });
  const stop = new AbortController();
  const watch = (prefix: string, fromRevision: Revision) =>
    hub.watch({ start: prefix, end: prefixEnd(prefix), fromRevision, signal: stop.signal });
  return { watch, stop };
}

/** Keys and revisions of the next events. */
async function take(watch: AsyncGenerator<WatchMessage, void, void>, count: number): Promise<string[]> {
  const got: string[] = [];
  while (got.length < count) {
    const { value } = await watch.next();
    if (value?.type === 'events') got.push(...value.events.map((event) => `${event.kv.key}@${event.kv.modRevision}`));
  }
  return got;
}

t.test('each watch gets the events of its keys', async (t) => {
  const history = new History();
  history.put('/registry/pods/a');
  const { watch, stop } = hubOver(history);
  const pods = watch('/registry/pods/', 2n);
  const one = watch('/registry/pods/b', 2n);
  const all = watch(root, 2n);
  const reading = Promise.all([take(pods, 1), take(one, 1), take(all, 2)]);
  await eventLoopTurn();
  history.put('/registry/podtemplates/x');
  history.put('/registry/pods/b');
  const b = '/registry/pods/b@3';
  t.same(await reading, [[b], [b], ['/registry/podtemplates/x@2', b]]);
  t.equal(history.begun.length, 1, 'one watch of the store for all of them');
  stop.abort();
});

t.test('a watch that starts in the past reads the gap once', async (t) => {
  const history = new History();
  for (const name of ['a', 'b', 'c']) history.put(`/registry/pods/${name}`);
  const { watch, stop } = hubOver(history);
  const late = watch('/registry/pods/', 2n);
  const reading = take(late, 3);
  await eventLoopTurn();
  history.put('/registry/pods/d');
  t.same(await reading, ['/registry/pods/b@2', '/registry/pods/c@3', '/registry/pods/d@4']);
  t.same(history.begun, [4n, 2n]);
  stop.abort();
  t.equal((await late.next()).done, true);
});

t.test('a watch whose queue was full misses nothing', async (t) => {
  const history = new History();
  const { watch, stop } = hubOver(history, 2);
  history.put('/registry/nodes/a');
  const slow = watch('/registry/pods/', 2n);
  const reading = take(slow, 1);
  await eventLoopTurn();
  const expected: string[] = [];
  for (let i = 0; i < 30; i++) {
    expected.push(`/registry/pods/${i}@${history.put(`/registry/pods/${i}`)}`);
    await eventLoopTurn();
  }
  const got = await reading;
  t.same([...got, ...(await take(slow, 30 - got.length))], expected);
  stop.abort();
});
