import t, { type Test } from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import { SharedInformerFactory, type SharedInformerFactoryOptions } from '#client/informer/factory.js';
import { dropManagedFields } from '#client/informer/transforms.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { eventLoopTurn, VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';

function pod(name: string, labels: Record<string, string> = {}): Pod {
  return { metadata: { name, namespace: 'default', labels }, spec: { containers: [{ name: 'c' }] } } as Pod;
}

function setUp(t: Test, options: Partial<SharedInformerFactoryOptions> = {}) {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect: orchDialect, clock, resources: [pods] });
  const dependencies = { client: api.client, clock, random: () => 0.5, log: silentLogger };
  const factory = new SharedInformerFactory({ ...dependencies, ...options });
  const stop = new AbortController();
  const events: string[] = [];
  const informer = factory.informer(pods);
  informer.addHandler({
    onAdd: (object, initial) => events.push(`add ${object.metadata.name}${initial ? ' initially' : ''}`),
    onUpdate: (object, old) =>
      events.push(`update ${object.metadata.name} ${old.status?.phase ?? '-'}>${object.status?.phase ?? '-'}`),
    onDelete: (object) => events.push(`delete ${object.metadata.name} ${object.status?.phase ?? '-'}`),
  });
  let running: Promise<void> | undefined;
  t.teardown(async () => {
    stop.abort();
    await clock.advance(1);
    await running;
  });
  const start = async () => {
    running = factory.start(stop.signal);
    await factory.waitForSync(stop.signal);
    await eventLoopTurn();
  };
  const phase = (name: string, phase: string) =>
    api.change(pods, `default/${name}`, (object) => {
      object.status = { phase };
    });
  const seen = async () => {
    await eventLoopTurn();
    return events.splice(0);
  };
  const verbs = () => api.calls.splice(0).map((call) => call.verb);
  return { clock, api, factory, informer, start, stop, phase, seen, verbs };
}

t.test('the store follows the server, handlers see every change in order', async (t) => {
  const { api, informer, start, phase, seen, clock } = setUp(t);
  api.seed(pods, pod('a'));
  api.seed(pods, pod('b'));
  t.equal(informer.hasSynced(), false);
  await start();
  t.equal(informer.hasSynced(), true);
  t.same(await seen(), ['add a initially', 'add b initially']);
  phase('a', 'Pending');
  phase('a', 'Running');
  api.seed(pods, pod('c'));
  api.remove(pods, 'default/b');
  phase('a', 'Failed');
  api.remove(pods, 'default/a');
  t.same(await seen(), [
    'update a ->Pending',
    'update a Pending>Running',
    'add c',
    'delete b -',
    'update a Running>Failed',
    'delete a Failed',
  ]);
  t.same(
    informer.list().map((object) => object.metadata.name),
    ['c'],
  );
  t.equal(informer.get('default/c')?.kind, 'Pod');
  await clock.advance(60_000);
  t.same(await seen(), [], 'no resync');
});

t.test('a dropped watch resumes from the last version', async (t) => {
  const { api, start, phase, seen, verbs, clock } = setUp(t);
  api.seed(pods, pod('a'));
  await start();
  await seen();
  t.same(verbs(), ['list', 'watch']);
  api.dropWatches();
  await eventLoopTurn();
  phase('a', 'Running');
  await clock.advance(5000);
  t.same(await seen(), ['update a ->Running']);
  t.same(verbs(), ['watch'], 'no second list');
});

t.test('bookmarks move the version, so that compaction does no harm', async (t) => {
  const { api, start, phase, seen, verbs, clock } = setUp(t);
  api.seed(pods, pod('a'));
  await start();
  api.compact();
  api.bookmark();
  await eventLoopTurn();
  verbs();
  api.dropWatches();
  await clock.advance(5000);
  phase('a', 'Running');
  t.same(verbs(), ['watch']);
  t.same((await seen()).slice(1), ['update a ->Running']);
});

t.test('410 means listing again: the difference becomes events, deletions with the last state known', async (t) => {
  const { api, start, phase, seen, verbs, clock, informer } = setUp(t);
  for (const name of ['a', 'b', 'c', 'd']) api.seed(pods, pod(name));
  await start();
  phase('b', 'Running');
  await seen();
  verbs();
  api.dropWatches();
  await eventLoopTurn();
  api.remove(pods, 'default/b');
  phase('a', 'Running');
  api.remove(pods, 'default/c');
  api.seed(pods, pod('c'));
  api.seed(pods, pod('e'));
  api.compact();
  await clock.advance(10_000);
  t.same(verbs(), ['watch', 'list', 'watch']);
  t.same(await seen(), ['delete b Running', 'update a ->Running', 'delete c -', 'add c', 'add e']);
  t.same(
    informer
      .list()
      .map((object) => object.metadata.name)
      .sort(),
    ['a', 'c', 'd', 'e'],
  );
  t.equal(informer.byIndex('namespace', 'default').length, 4);
});

t.test('a failing server is asked less and less often', async (t) => {
  const { api, start, verbs, clock, stop } = setUp(t);
  api.seed(pods, pod('a'));
  const up = api.intercept(() => serviceUnavailable('not now'));
  const starting = start();
  await clock.advance(60_000);
  const tries = verbs().length;
  t.ok(tries >= 4 && tries <= 8, `${tries} lists in a minute`);
  up();
  await clock.advance(60_000);
  await starting;
  t.same(verbs(), ['list', 'watch']);
  stop.abort();
});

t.test('what failed before does not hold up a list that 410 asks for', async (t) => {
  const { clock, api, phase, informer, start } = setUp(t);
  api.seed(pods, pod('a'));
  await start();
  const repair = api.intercept(() => serviceUnavailable('down'));
  api.dropWatches();
  await clock.advance(60_000);
  phase('a', 'Running');
  api.compact();
  repair();
  api.calls.splice(0);
  // The back-off by now is up to 45 s; of the list behind the watch that is refused it is up to 1.2 s.
  await clock.advanceUntil(() => api.calls.length > 0);
  await clock.advance(1500);
  t.equal(informer.list()[0]?.status?.phase, 'Running');
});

t.test('a handler that throws keeps nothing from the others', async (t) => {
  const { api, informer, start, phase, seen } = setUp(t);
  const others: string[] = [];
  informer.addHandler({
    onAdd() {
      throw new Error('broken');
    },
  });
  const remove = informer.addHandler({ onUpdate: (object) => others.push(`${object.metadata.name}`) });
  api.seed(pods, pod('a'));
  await start();
  phase('a', 'Running');
  t.same(await seen(), ['add a initially', 'update a ->Running']);
  t.same(others, ['a']);
  remove();
  phase('a', 'Failed');
  await seen();
  t.same(others, ['a']);
});

t.test('late handlers and late indexes see what is there', async (t) => {
  const { api, informer, start, phase, seen } = setUp(t);
  api.seed(pods, pod('a'));
  api.seed(pods, pod('b'));
  await start();
  phase('a', 'Running');
  await seen();
  const late: string[] = [];
  informer.addHandler({ onAdd: (object) => late.push(`${object.metadata.name} ${object.status?.phase}`) });
  t.same(late, ['a Running', 'b undefined']);
  t.throws(() => informer.byIndex('phase', 'Running'), RangeError);
  informer.addIndexers({ phase: (object) => (object.status?.phase === undefined ? [] : [object.status.phase]) });
  t.same(
    informer.byIndex('phase', 'Running').map((object) => object.metadata.name),
    ['a'],
  );
  phase('b', 'Running');
  phase('a', 'Failed');
  await seen();
  t.same(
    informer.byIndex('phase', 'Running').map((object) => object.metadata.name),
    ['b'],
  );
  api.remove(pods, 'default/b');
  await seen();
  t.same(informer.byIndex('phase', 'Running'), []);
});

t.test('informers are shared by what they select', async (t) => {
  const { api, factory, informer, start } = setUp(t);
  t.equal(factory.informer(pods), informer);
  const labelled = factory.informer(pods, { labelSelector: 'app=web', transform: dropManagedFields });
  t.not(labelled, informer);
  t.equal(factory.informer(pods, { labelSelector: 'app=web', transform: dropManagedFields }), labelled);
  api.seed(pods, pod('a', { app: 'web' }));
  api.seed(pods, pod('b'));
  await start();
  t.equal(labelled.size, 1);
  t.equal(informer.size, 2);
  const late = factory.informer(pods, { fieldSelector: 'metadata.name=b' });
  await factory.waitForSync();
  t.equal(late.size, 1, 'asked for after the start, started at once');
});

t.test('objects share what is equal in them, also with informers that select or transform otherwise', async (t) => {
  const { api, factory, informer, start, phase, seen } = setUp(t);
  const labelled = factory.informer(pods, { labelSelector: 'app=web' });
  const marked = factory.informer(pods, {
    transform: (object) => ({ ...object, metadata: { ...object.metadata, annotations: { mark: 'x' } } }),
  });
  api.seed(pods, pod('web-1', { app: 'web' }));
  api.seed(pods, pod('web-2', { app: 'web' }));
  await start();
  const first = informer.get('default/web-1');
  t.equal(labelled.get('default/web-1'), first, 'one object');
  t.equal(marked.get('default/web-1')?.spec, first?.spec);
  t.same(marked.get('default/web-1')?.metadata.annotations, { mark: 'x' });
  t.equal(first?.metadata.annotations, undefined);
  t.equal(informer.get('default/web-2')?.spec, first?.spec, 'objects of one controller');
  t.equal(informer.get('default/web-2')?.metadata.labels, first?.metadata.labels);
  await seen();
  phase('web-1', 'Running');
  t.same(await seen(), ['update web-1 ->Running']);
  const second = informer.get('default/web-1');
  t.equal(second?.spec, first?.spec, 'versions of one object');
  t.equal(first?.status, undefined);
  t.equal(labelled.get('default/web-1'), second);
});

t.test('only informers of all objects, as they are, are there for others', async (t) => {
  const { factory, informer } = setUp(t);
  t.equal(factory.existing(pods), informer);
  const other = new SharedInformerFactory({
    client: factory.client,
    clock: new VirtualClock(),
    random: () => 0.5,
    log: silentLogger,
  });
  t.equal(other.existing(pods), undefined);
  other.informer(pods, { namespace: 'default' });
  other.informer(pods, { transform: dropManagedFields });
  t.equal(other.existing(pods), undefined);
});

t.test('an index follows changes of what it is made of', async (t) => {
  const { api, informer, start } = setUp(t);
  informer.addIndexers({ app: ({ metadata }) => Object.values(metadata.labels ?? {}) });
  api.seed(pods, pod('a', { app: 'x' }));
  api.seed(pods, pod('b', { app: 'x' }));
  await start();
  const names = (app: string) => informer.byIndex('app', app).map(({ metadata }) => metadata.name);
  api.change(pods, 'default/a', (object) => {
    object.status = { phase: 'Running' };
  });
  await eventLoopTurn();
  t.same(names('x'), ['a', 'b']);
  api.change(pods, 'default/a', ({ metadata }) => {
    metadata.labels = { app: 'y', tier: 'x' };
  });
  await eventLoopTurn();
  t.same([names('x'), names('y')], [['b', 'a'], ['a']]);
});

t.test('a dead connection is given up some time after the watch should have ended', async (t) => {
  const { api, start, verbs, clock } = setUp(t);
  await start();
  verbs();
  await clock.advance(479_000);
  t.same(verbs(), []);
  await clock.advance(2000);
  t.same(verbs(), ['watch']);
  t.equal(api.list(pods).length, 0);
});

t.test('waiting for sync ends with its signal', async (t) => {
  const { factory } = setUp(t);
  const stop = new AbortController();
  const waiting = factory.waitForSync(stop.signal);
  stop.abort(new Error('stopped'));
  await t.rejects(waiting, { message: 'stopped' });
});

t.test('the initial state is streamed where the server does that', async (t) => {
  const { api, start, phase, seen, verbs, informer, clock } = setUp(t, { streamInitialState: true });
  api.seed(pods, pod('a'));
  api.seed(pods, pod('b'));
  await start();
  t.same(await seen(), ['add a initially', 'add b initially']);
  t.same(verbs(), ['watch']);
  phase('a', 'x');
  t.same(await seen(), ['update a ->x'], 'the same watch goes on');
  api.dropWatches();
  await clock.advance(2000);
  t.same(verbs(), ['watch']);
  api.dropWatches();
  api.remove(pods, 'default/b');
  api.compact();
  await clock.advance(10_000);
  t.same(await seen(), ['delete b -']);
  t.ok(verbs().every((verb) => verb === 'watch'));
  t.equal(informer.size, 1);
});

t.test('a server that does not stream is listed, and not asked again', async (t) => {
  const { api, start, seen, verbs, clock } = setUp(t, { streamInitialState: true });
  api.streamsInitialState = false;
  api.seed(pods, pod('a'));
  await start();
  t.same(await seen(), ['add a initially']);
  t.same(verbs(), ['watch', 'list', 'watch']);
  api.compact();
  api.dropWatches();
  api.seed(pods, pod('b'));
  api.compact();
  await clock.advance(10_000);
  t.same(await seen(), ['add b']);
  t.notOk(api.calls.some((call) => call.verb === 'list' && call.name !== undefined));
});

t.test('handlers that want it see everything again from time to time', async (t) => {
  const { api, start, seen, informer, clock } = setUp(t, { resyncMs: 1000 });
  api.seed(pods, pod('a'));
  const often: string[] = [];
  const remove = informer.addHandler(
    { onUpdate: (object, old) => often.push(object === old ? 'same' : 'other') },
    { resyncMs: 400 },
  );
  informer.addHandler({ onUpdate: () => t.fail('never') }, { resyncMs: 0 });
  await start();
  await seen();
  await clock.advance(1499);
  t.same(often, ['same', 'same', 'same']);
  t.same(await seen(), []);
  await clock.advance(1);
  t.same(await seen(), ['update a ->-']);
  remove();
  await clock.advance(1500);
  t.equal(often.length, 3);
  t.same(await seen(), ['update a ->-']);
});

t.test('an informer that ends by itself ends the wait for all of them', async (t) => {
  // A defect that no list or watch brings about: the time of the watch cannot be worked out.
  let broken = false;
  const random = () => {
    if (broken) throw new RangeError('no number left');
    return 0.5;
  };
  const { factory, stop } = setUp(t, { random });
  broken = true;
  await t.rejects(factory.start(stop.signal), { message: 'no number left' });
});
