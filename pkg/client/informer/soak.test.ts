import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { FaultyTransport } from '#client/testing/faulty-transport.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';

t.setTimeout(240_000);

/** A small random generator, so that a seed reproduces a run. */
function generator(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function pod(name: string): Pod {
  return { metadata: { name, namespace: 'default' }, spec: { containers: [{ name: 'c' }] } } as Pod;
}

interface Seen {
  readonly uid: string;
  readonly version: number;
}

/** Reports invalid events: an update of an unknown object, a version going back, a second add without a delete. */
class Checker {
  readonly problems: string[] = [];
  readonly objects = new Map<string, Seen>();

  add(object: Pod): void {
    const key = object.metadata.name ?? '';
    if (this.objects.has(key)) this.problems.push(`added twice: ${key}`);
    this.#set(key, object);
  }

  update(object: Pod, old: Pod): void {
    const key = object.metadata.name ?? '';
    const last = this.objects.get(key);
    if (last === undefined) this.problems.push(`update of an unknown ${key}`);
    else {
      if (last.uid !== object.metadata.uid) this.problems.push(`another object under ${key} without a deletion`);
      if (Number(object.metadata.resourceVersion) <= last.version) this.problems.push(`${key} went back or came twice`);
      if (Number(old.metadata.resourceVersion) !== last.version)
        this.problems.push(`${key}: old is not the last one seen`);
    }
    this.#set(key, object);
  }

  delete(object: Pod): void {
    const key = object.metadata.name ?? '';
    if (!this.objects.delete(key)) this.problems.push(`deletion of an unknown ${key}`);
  }

  #set(key: string, object: Pod): void {
    this.objects.set(key, { uid: object.metadata.uid ?? '', version: Number(object.metadata.resourceVersion) });
  }
}

/** Faults in a schedule, so that the run can check that all of them occurred. */
type Fault = 'kill' | 'restart' | 'partition' | 'compact' | 'slow' | 'overload';

interface Outcome {
  readonly problems: readonly string[];
  readonly faults: ReadonlySet<Fault>;
}

async function soak(seed: number): Promise<Outcome> {
  const random = generator(seed);
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect: orchDialect, clock, resources: [pods] });
  // Covers streaming, servers that could stream but are not asked to, and servers that refuse.
  const streamInitialState = random(2) === 0;
  api.streamsInitialState = random(3) > 0;
  const inner = new InProcessTransport({ handler: (request) => api.handle(request) });
  const network = new FaultyTransport({ inner, clock, random });
  const client = new RestClient({ transport: network, dialect: orchDialect, clock });
  const factory = new SharedInformerFactory({
    client,
    clock,
    random: () => random(1000) / 1000,
    log: silentLogger,
    streamInitialState,
  });
  const informer = factory.informer(pods);
  const checker = new Checker();
  informer.addHandler({
    onAdd: (object) => checker.add(object),
    onUpdate: (object, old) => checker.update(object, old),
    onDelete: (object) => checker.delete(object),
  });
  let overloaded = false;
  api.intercept(() => (overloaded ? serviceUnavailable('overloaded') : undefined));
  const stop = new AbortController();
  const running = factory.start(stop.signal);
  const faults = new Set<Fault>();
  for (let step = 0; step < 60; step += 1) {
    const name = `p${random(6)}`;
    const exists = api.get(pods, `default/${name}`) !== undefined;
    switch (random(14)) {
      case 0:
      case 1:
      case 2:
      case 3:
        if (exists) {
          api.change(pods, `default/${name}`, (object) => {
            object.status = { phase: `${step}` };
          });
        } else api.seed(pods, pod(name));
        break;
      case 4:
        if (exists) api.remove(pods, `default/${name}`);
        break;
      case 5:
        // Killed: every connection breaks at once, and the server is down for a time.
        faults.add('kill');
        network.set('down');
        network.breakAll();
        break;
      case 6:
        // Restarted gracefully: watches end, and the server is back at once.
        faults.add('restart');
        api.dropWatches();
        network.set('up');
        overloaded = false;
        break;
      case 7:
        faults.add('partition');
        network.set('partitioned');
        break;
      case 8:
        faults.add('compact');
        api.compact();
        break;
      case 9:
        faults.add('slow');
        network.set('slow');
        break;
      case 10:
        faults.add('overload');
        overloaded = !overloaded;
        break;
      case 11:
        api.bookmark();
        break;
      case 12:
        // Longer than any watch lasts, so that hanging ones are dropped.
        await clock.advance(random(2) === 0 ? 1_000_000 : random(90_000));
        break;
      default:
        await clock.advance(random(20_000));
    }
  }
  overloaded = false;
  // Either the delayed data arrives, or its connections are broken.
  if (random(2) === 0) network.breakAll();
  network.set('up');
  await clock.advance(1_000_000);
  const problems = [...checker.problems];
  const print = (list: Pod[]) =>
    list
      .map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
      .sort()
      .join();
  if (print(informer.list()) !== print(api.list(pods))) problems.push('did not converge');
  if (checker.objects.size !== informer.size) problems.push('handlers know something else than the store');
  stop.abort();
  await clock.advance(1);
  await running;
  if (clock.pendingTimers > 0) problems.push(`${clock.pendingTimers} timers left`);
  return { problems, faults };
}

t.test('under random faults the store converges and handlers see consistent events', async (t) => {
  const first = 20_220_503;
  const count = 1000;
  t.comment(`seeds ${first} to ${first + count - 1}`);
  const met = new Map<Fault, number>();
  for (let seed = first; seed < first + count; seed += 1) {
    const { problems, faults } = await soak(seed);
    if (problems.length > 0) t.fail(`seed ${seed}: ${problems.join('; ')}`);
    for (const fault of faults) met.set(fault, (met.get(fault) ?? 0) + 1);
  }
  for (const fault of ['kill', 'restart', 'partition', 'compact', 'slow', 'overload'] as const) {
    t.ok((met.get(fault) ?? 0) > count / 2, `${fault} in ${met.get(fault) ?? 0} of ${count} schedules`);
  }
});
