import t from 'tap';
import { configmaps, events } from '#api/core/v1/resources.gen.js';
import type { Event } from '#api/core/v1/types.gen.js';
import { events as newEvents } from '#api/events/v1/resources.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { type EventLimit, eventLimits } from '#apiserver/admission/event-rate-limit/configuration.js';
import { EventRateLimit } from '#apiserver/admission/event-rate-limit/event-rate-limit.js';
import { outcomeOf } from '#apiserver/admission/testing/requests.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';

const limit = (type: EventLimit['type'], more: Partial<EventLimit> = {}): EventLimit => ({
  type,
  qps: 1,
  burst: 1,
  cacheSize: 10,
  ...more,
});
const event = (name = 'p', more: Partial<Event> = {}): Event => ({
  metadata: { name: 'e', namespace: 'ns' },
  source: { component: 'c', host: 'h' },
  involvedObject: { kind: 'Pod', namespace: 'ns', name, uid: 'u', apiVersion: 'v1' },
  ...more,
});
const admitted = 'admitted';
const reached = (what: string) => `429 Too many requests: ${what}`;

t.test('each kind of limit has its buckets', async (t) => {
  const bob = { name: 'bob', groups: [] };
  const rows: readonly (readonly [EventLimit['type'], object, key: string, other: object | undefined])[] = [
    ['Server', {}, '', undefined],
    ['Namespace', {}, 'ns', { namespace: 'other' }],
    ['User', {}, 'alice', { user: bob }],
    ['SourceAndObject', {}, 'chPodnspuv1', { object: event('q') }],
    ['SourceAndObject', { object: { metadata: { name: 'e' } } }, '', { object: event() }],
  ];
  for (const [type, more, key, other] of rows) {
    const plugin = new EventRateLimit({ limits: [limit(type)], clock: new VirtualClock() });
    const write = (request: object) => outcomeOf(plugin, events, { object: event(), ...more, ...request });
    t.equal(await write({}), admitted, `${type}: the first`);
    t.equal(await write({}), reached(`limit reached on type ${type} for key ${key}`), `${type}: the second`);
    if (other !== undefined) t.equal(await write(other), admitted, `${type}: another bucket`);
  }
});

t.test('buckets refill, and all limits count', async (t) => {
  const clock = new VirtualClock();
  const limits = [limit('Server', { burst: 3, qps: 2 }), limit('Namespace', { burst: 2 }), limit('User', { burst: 2 })];
  const plugin = new EventRateLimit({ limits, clock });
  const write = (more: object = {}) => outcomeOf(plugin, events, { object: event(), ...more });
  t.strictSame([await write(), await write()], [admitted, admitted], 'the burst');
  const both = '[limit reached on type Namespace for key ns, limit reached on type User for key alice]';
  t.equal(await write(), reached(both), 'two limits');
  // The refused event took the last token of the server.
  const other = { namespace: 'other', user: { name: 'bob', groups: [] } };
  t.equal(await write(other), reached('limit reached on type Server for key '), 'the server');
  await clock.advance(1000);
  t.equal(await write(), admitted, 'after a second');
  t.equal(await write(), reached(both), 'one token each second');
});

t.test('only writes of events of the core group count', async (t) => {
  const plugin = new EventRateLimit({ limits: [limit('Server')], clock: new VirtualClock() });
  for (const [resource, more] of [
    [configmaps, {}],
    [newEvents, {}],
    [events, { dryRun: true }],
    [events, { operation: 'DELETE' }],
  ] as const)
    for (const round of [1, 2])
      t.equal(await outcomeOf(plugin, resource, { object: event(), ...more }), admitted, `${resource.group} ${round}`);
  t.equal(await outcomeOf(plugin, events, { object: event(), operation: 'UPDATE' }), admitted, 'an update');
  t.match(await outcomeOf(plugin, events, { object: event() }), /^429 /, 'a creation after it');
});

t.test('a dropped bucket begins full again, and long keys cost no memory', async (t) => {
  const limits = [limit('SourceAndObject', { cacheSize: 2 })];
  const plugin = new EventRateLimit({ limits, clock: new VirtualClock() });
  const write = (name: string) => outcomeOf(plugin, events, { object: event(name) });
  for (const name of ['a', 'b', 'c', 'a']) t.equal(await write(name), admitted, name);
  t.match(await write('a'), /^429 /, 'a bucket that is kept');
  const long = 'x'.repeat(100_000);
  t.equal(await write(`${long}1`), admitted, 'a long key');
  t.equal(await write(`${long}2`), admitted, 'another long key');
  const refusal = await write(`${long}2`);
  t.match(
    refusal,
    /^429 Too many requests: limit reached on type SourceAndObject for key chPodnsx/,
    'the same long key',
  );
  t.ok(refusal.length < 20_000, 'a message of bounded length');
});

t.test('the configuration needs at least one valid limit', (t) => {
  for (const dialect of [orchDialect, kubernetesDialect]) {
    const value = { apiVersion: `eventratelimit.admission.${dialect.apiDomain}/v1alpha1`, kind: 'Configuration' };
    const read = (limits: unknown) => eventLimits({ path: '/f', value: { ...value, limits } }, dialect);
    t.strictSame(
      read([
        { type: 'Server', qps: 5, burst: 9, cacheSize: -1 },
        { type: 'User', qps: 1, burst: 2 },
      ]),
      [
        { type: 'Server', qps: 5, burst: 9, cacheSize: -1 },
        { type: 'User', qps: 1, burst: 2, cacheSize: 4096 },
      ],
    );
    const supported = '"Namespace", "Server", "SourceAndObject", "User"';
    const at = '--admission-control-config-file: /f: ';
    const rows: readonly (readonly [unknown, ...string[]])[] = [
      [[], 'limits: Invalid value: []eventratelimit.Limit(nil): must not be empty'],
      [null, 'limits: Invalid value: []eventratelimit.Limit(nil): must not be empty'],
      [
        [{ type: 'Other', qps: 1, burst: 1 }],
        `limits[0].type: Unsupported value: "Other": supported values: ${supported}`,
      ],
      [
        [{ type: 'User', qps: -1, cacheSize: -1 }],
        'limits[0].burst: Invalid value: 0: must be positive',
        'limits[0].qps: Invalid value: -1: must be positive',
        'limits[0].cacheSize: Invalid value: -1: must not be negative',
      ],
      [[{ type: 'User', qps: 1.5, burst: 1 }], 'limits[0].qps: Invalid value: 1.5: must be an integer (int32)'],
    ];
    for (const [limits, ...messages] of rows)
      t.throws(() => read(limits), { message: messages.map((one) => `${at}${one}`).join('\n') }, messages.join());
    t.throws(() => eventLimits(undefined, dialect), { message: /must not be empty$/ }, 'no configuration');
  }
  t.end();
});
