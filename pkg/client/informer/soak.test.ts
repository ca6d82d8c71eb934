import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';

/** A small generator, so that a seed repeats a run. */
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

/** What a handler must never see: an update of something unknown, a version that goes back, an add without a delete. */
class Checker {
  readonly problems: string[] = [];
  readonly known = new Map<string, Seen>();

  add(object: Pod): void {
    const key = object.metadata.name ?? '';
    if (this.known.has(key)) this.problems.push(`added twice: ${key}`);
    this.#set(key, object);
  }

  update(object: Pod, old: Pod): void {
    const key = object.metadata.name ?? '';
    const last = this.known.get(key);
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
    if (!this.known.delete(key)) this.problems.push(`deletion of an unknown ${key}`);
  }

  #set(key: string, object: Pod): void {
    this.known.set(key, { uid: object.metadata.uid ?? '', version: Number(object.metadata.resourceVersion) });
  }
}

async function soak(seed: number): Promise<string[]> {
  const random = generator(seed);
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect: orchDialect, clock, resources: [pods] });
  const factory = new SharedInformerFactory({
    client: api.client,
    clock,
    random: () => random(1000) / 1000,
    log: silentLogger,
  });
  const informer = factory.informer(pods);
  const checker = new Checker();
  informer.addHandler({
    onAdd: (object) => checker.add(object),
    onUpdate: (object, old) => checker.update(object, old),
    onDelete: (object) => checker.delete(object),
  });
  let down = false;
  api.intercept(() => (down ? serviceUnavailable('down') : undefined));
  const stop = new AbortController();
  const running = factory.start(stop.signal);
  for (let step = 0; step < 60; step += 1) {
    const name = `p${random(6)}`;
    const exists = api.get(pods, `default/${name}`) !== undefined;
    switch (random(9)) {
      case 0:
      case 1:
      case 2:
        if (exists) {
          api.change(pods, `default/${name}`, (object) => {
            object.status = { phase: `${step}` };
          });
        } else api.seed(pods, pod(name));
        break;
      case 3:
        if (exists) api.remove(pods, `default/${name}`);
        break;
      case 4:
        api.dropWatches();
        break;
      case 5:
        api.compact();
        break;
      case 6:
        down = !down;
        if (down) api.dropWatches();
        break;
      case 7:
        api.bookmark();
        break;
      default:
        await clock.advance(random(20_000));
    }
  }
  down = false;
  await clock.advance(120_000);
  const print = (list: Pod[]) =>
    list
      .map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
      .sort()
      .join();
  if (print(informer.list()) !== print(api.list(pods))) checker.problems.push('did not converge');
  if (checker.known.size !== informer.size) checker.problems.push('handlers know something else than the store');
  stop.abort();
  await clock.advance(1);
  await running;
  return checker.problems;
}

t.test('whatever fails, the store converges and handlers see an orderly story', async (t) => {
  const first = 20_220_503;
  const count = 1000;
  t.comment(`seeds ${first} to ${first + count - 1}`);
  for (let seed = first; seed < first + count; seed += 1) {
    const problems = await soak(seed);
    if (problems.length > 0) t.fail(`seed ${seed}: ${problems.join('; ')}`);
  }
});
