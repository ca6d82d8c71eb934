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
  const observed = async () => {
    await eventLoopTurn();
    return events.splice(0);
  };
  const verbs = () => api.calls.splice(0).map((call) => call.verb);
  return { clock, api, factory, informer, start, stop, phase, observed, verbs };
}

t.test('the store follows the server, and handlers see every change in order', async (t) => {
  const { api, informer, start, phase, observed, clock } = setUp(t);
  api.seed(pods, pod('a'));
  api.seed(pods, pod('b'));
  t.equal(informer.hasSynced(), false);
  await start();
  t.equal(informer.hasSynced(), true);
  t.same(await observed(), ['add a initially', 'add b initially']);
  phase('a', 'Pending');
  phase('a', 'Running');
  api.seed(pods, pod('c'));
  api.remove(pods, 'default/b');
  phase('a', 'Failed');
  api.remove(pods, 'default/a');
  t.same(await observed(), [
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
  t.same(await observed(), [], 'no resync');
});

t.test('a dropped watch resumes from the last version', async (t) => {
  const { api, start, phase, observed, verbs, clock } = setUp(t);
  api.seed(pods, pod('a'));
  await start();
  await observed();
  t.same(verbs(), ['list', 'watch']);
  api.dropWatches();
  await eventLoopTurn();
  phase('a', 'Running');
  await clock.advance(5000);
  t.same(await observed(), ['update a ->Running']);
  t.same(verbs(), ['watch'], 'no second list');
});

t.test('bookmarks advance the version, so that compaction causes no relist', async (t) => {
  const { api, start, phase, observed, verbs, clock } = setUp(t);
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
  t.same((await observed()).slice(1), ['update a ->Running']);
});

t.test('a relist after 410 turns differences into events; deletions have the last state', async (t) => {
  const { api, start, phase, observed, verbs, clock, informer } = setUp(t);
  for (const name of ['a', 'b', 'c', 'd']) api.seed(pods, pod(name));
  await start();
  phase('b', 'Running');
  await observed();
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
  t.same(await observed(), ['delete b Running', 'update a ->Running', 'delete c -', 'add c', 'add e']);
  t.same(
    informer
      .list()
      .map((object) => object.metadata.name)
      .sort(),
    ['a', 'c', 'd', 'e'],
  );
  t.equal(informer.byIndex('namespace', 'default').length, 4);
});

t.test('requests to a failing server back off', async (t) => {
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

t.test('earlier failures do not delay a relist after 410', async (t) => {
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
  // The back-off has grown to 45 s; the relist after the refused watch waits up to 1.2 s.
  await clock.advanceUntil(() => api.calls.length > 0);
  await clock.advance(1500);
  t.equal(informer.list()[0]?.status?.phase, 'Running');
});

t.test('a handler that throws does not affect the others', async (t) => {
  const { api, informer, start, phase, observed } = setUp(t);
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
  t.same(await observed(), ['add a initially', 'update a ->Running']);
  t.same(others, ['a']);
  remove();
  phase('a', 'Failed');
  await observed();
  t.same(others, ['a']);
});

t.test('late handlers and late indexes see existing objects', async (t) => {
  const { api, informer, start, phase, observed } = setUp(t);
  api.seed(pods, pod('a'));
  api.seed(pods, pod('b'));
  await start();
  phase('a', 'Running');
  await observed();
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
  await observed();
  t.same(
    informer.byIndex('phase', 'Running').map((object) => object.metadata.name),
    ['b'],
  );
  api.remove(pods, 'default/b');
  await observed();
  t.same(informer.byIndex('phase', 'Running'), []);
});

t.test('informers with equal scope are shared', async (t) => {
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
  t.equal(late.size, 1, 'created after the start, started at once');
});

t.test('objects share equal parts, also across informers with other selectors or transforms', async (t) => {
  const { api, factory, informer, start, phase, observed } = setUp(t);
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
  await observed();
  phase('web-1', 'Running');
  t.same(await observed(), ['update web-1 ->Running']);
  const second = informer.get('default/web-1');
  t.equal(second?.spec, first?.spec, 'versions of one object');
  t.equal(first?.status, undefined);
  t.equal(labelled.get('default/web-1'), second);
});

t.test('existing returns only informers of all untransformed objects', async (t) => {
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

t.test('an index follows changes of the objects', async (t) => {
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

t.test('a dead connection is dropped some time after the watch should have ended', async (t) => {
  const { api, start, verbs, clock } = setUp(t);
  await start();
  verbs();
  await clock.advance(479_000);
  t.same(verbs(), []);
  await clock.advance(2000);
  t.same(verbs(), ['watch']);
  t.equal(api.list(pods).length, 0);
});

t.test('waitForSync ends with its signal', async (t) => {
  const { factory } = setUp(t);
  const stop = new AbortController();
  const waiting = factory.waitForSync(stop.signal);
  stop.abort(new Error('stopped'));
  await t.rejects(waiting, { message: 'stopped' });
});

t.test('the initial state is streamed if the server supports it', async (t) => {
  const { api, start, phase, observed, verbs, informer, clock } = setUp(t, { streamInitialState: true });
  api.seed(pods, pod('a'));
  api.seed(pods, pod('b'));
  await start();
  t.same(await observed(), ['add a initially', 'add b initially']);
  t.same(verbs(), ['watch']);
  phase('a', 'x');
  t.same(await observed(), ['update a ->x'], 'the same watch continues');
  api.dropWatches();
  await clock.advance(2000);
  t.same(verbs(), ['watch']);
  api.dropWatches();
  api.remove(pods, 'default/b');
  api.compact();
  await clock.advance(10_000);
  t.same(await observed(), ['delete b -']);
  t.ok(verbs().every((verb) => verb === 'watch'));
  t.equal(informer.size, 1);
});

t.test('a server without streaming is listed and not asked to stream again', async (t) => {
  const { api, start, observed, verbs, clock } = setUp(t, { streamInitialState: true });
  api.streamsInitialState = false;
  api.seed(pods, pod('a'));
  await start();
  t.same(await observed(), ['add a initially']);
  t.same(verbs(), ['watch', 'list', 'watch']);
  api.compact();
  api.dropWatches();
  api.seed(pods, pod('b'));
  api.compact();
  await clock.advance(10_000);
  t.same(await observed(), ['add b']);
  t.notOk(api.calls.some((call) => call.verb === 'list' && call.name !== undefined));
});

t.test('handlers with a resync period receive all objects periodically', async (t) => {
  const { api, start, observed, informer, clock } = setUp(t, { resyncMs: 1000 });
  api.seed(pods, pod('a'));
  const often: string[] = [];
  const remove = informer.addHandler(
    { onUpdate: (object, old) => often.push(object === old ? 'same' : 'other') },
    { resyncMs: 400 },
  );
  informer.addHandler({ onUpdate: () => t.fail('never') }, { resyncMs: 0 });
  await start();
  await observed();
  await clock.advance(1499);
  t.same(often, ['same', 'same', 'same']);
  t.same(await observed(), []);
  await clock.advance(1);
  t.same(await observed(), ['update a ->-']);
  remove();
  await clock.advance(1500);
  t.equal(often.length, 3);
  t.same(await observed(), ['update a ->-']);
});

t.test('an informer that ends unexpectedly fails the factory', async (t) => {
  // A defect outside of list and watch: computing the watch timeout throws.
  let broken = false;
  const random = () => {
    if (broken) throw new RangeError('no number left');
    return 0.5;
  };
  const { factory, stop } = setUp(t, { random });
  broken = true;
  await t.rejects(factory.start(stop.signal), { message: 'no number left' });
});
