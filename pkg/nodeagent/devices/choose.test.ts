import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { hasNode, maskOf } from '#nodeagent/allocation/topology/numa-mask.js';
import { chooseDevices, type DeviceRequest } from '#nodeagent/devices/choose.js';
import type { Device } from '#nodeagent/devices/device.js';

const none: ReadonlySet<string> = new Set();
const devicesOf = (nodes: Readonly<Record<string, readonly number[] | undefined>>) =>
  new Map(
    Object.entries(nodes).map(([id, on]): [string, Device] => [
      id,
      { id, isHealthy: true, ...(on === undefined ? {} : { nodes: on }) },
    ]),
  );

t.test('devices in order of preference', async (t) => {
  const two = devicesOf({ a: [0], b: [0], c: [1], d: [1], e: [] });
  const all = new Set(two.keys());
  const rows: {
    name: string;
    request: Partial<DeviceRequest>;
    preferred?: string[];
    offered?: string[];
    ids?: string[];
  }[] = [
    { name: 'any, without affinity', request: { count: 2 }, offered: ['a', 'b', 'c', 'd', 'e'], ids: ['a', 'b'] },
    { name: 'those the plugin prefers', request: { count: 2 }, preferred: ['d', 'e'], ids: ['d', 'e'] },
    { name: 'and others, if it prefers fewer', request: { count: 2 }, preferred: ['e'], ids: ['e', 'a'] },
    { name: 'not those it prefers but cannot give', request: { count: 1 }, preferred: ['x'], ids: ['a'] },
    { name: 'aligned ones', request: { count: 1, affinity: maskOf([1]) }, offered: ['c', 'd'], ids: ['c'] },
    {
      name: 'the plugin chooses among them',
      request: { count: 1, affinity: maskOf([1]) },
      preferred: ['a', 'd'],
      ids: ['d'],
    },
    { name: 'all aligned ones, if they just suffice', request: { count: 2, affinity: maskOf([1]) }, ids: ['c', 'd'] },
    {
      name: 'then others',
      request: { count: 3, affinity: maskOf([1]) },
      offered: ['a', 'b', 'c', 'd', 'e'],
      ids: ['c', 'd', 'a'],
    },
    { name: 'those without a node last', request: { count: 5, affinity: maskOf([1]) }, ids: ['c', 'd', 'a', 'b', 'e'] },
    { name: 'reusable ones first', request: { count: 2, reusable: new Set(['x']) }, preferred: ['e'], ids: ['x', 'e'] },
    { name: 'only reusable ones, if they suffice', request: { count: 1, reusable: new Set(['x']) }, ids: ['x'] },
  ];
  for (const { name, request, preferred = [], offered, ids } of rows) {
    const choice = chooseDevices({ count: 1, devices: two, free: all, reusable: none, ...request });
    if (offered !== undefined && choice.type === 'open')
      t.same(choice.preference.available, offered, `${name}: the plugin may choose`);
    const chosen =
      choice.type === 'open' ? choice.complete(new Set(preferred)) : choice.type === 'chosen' ? choice.ids : [];
    t.same(chosen, ids, name);
  }
  const plain = chooseDevices({
    count: 1,
    devices: devicesOf({ a: undefined }),
    free: new Set(['a']),
    reusable: none,
    affinity: maskOf([1]),
  });
  t.equal(plain.type, 'open', 'devices without topology are all alike');
  t.same(
    chooseDevices({ count: 7, devices: two, free: all, reusable: new Set(['x']) }),
    { type: 'unavailable', requested: 6, available: 5 },
    'too few',
  );
});

t.test('random choices: as many as requested, no other ones, aligned ones first', async (t) => {
  const seed = 20_261;
  const random = seededRandom(seed);
  const pick = (n: number) => Math.floor(random() * n);
  for (let round = 0; round < 2000; round++) {
    const nodes = Object.fromEntries(
      Array.from({ length: 1 + pick(8) }, (_, i) => [
        `d${i}`,
        random() < 0.2 ? undefined : random() < 0.2 ? [] : [pick(3)],
      ]),
    );
    const devices = devicesOf(nodes);
    const free = new Set([...devices.keys()].filter(() => random() < 0.8));
    const reusable = new Set([...devices.keys()].filter((id) => !free.has(id) && random() < 0.4));
    const affinity = random() < 0.3 ? undefined : maskOf([pick(3)]);
    const count = 1 + pick(6);
    const what = `seed ${seed}, round ${round}`;
    const choice = chooseDevices({ count, devices, free, reusable, affinity });
    if (free.size + reusable.size < count) {
      t.equal(choice.type, 'unavailable', what);
      continue;
    }
    const preferred = new Set([...devices.keys()].filter(() => random() < 0.5));
    const ids = choice.type === 'open' ? choice.complete(preferred) : choice.type === 'chosen' ? choice.ids : [];
    const isAligned = (id: string) =>
      affinity !== undefined && (devices.get(id)?.nodes ?? []).some((node) => hasNode(affinity, node));
    const fresh = ids.filter((id) => free.has(id));
    const reused = ids.filter((id) => reusable.has(id));
    const alignedFree = [...free].filter(isAligned).length;
    const isRight =
      new Set(ids).size === count &&
      fresh.length + reused.length === count &&
      reused.length === Math.min(count, reusable.size) &&
      fresh.filter(isAligned).length === Math.min(fresh.length, alignedFree);
    if (!isRight) t.fail(`${what}: ${ids.join()}`);
  }
});
