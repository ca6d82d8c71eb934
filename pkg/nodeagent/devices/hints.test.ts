import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { hasNode, maskOf, nodeCount, nodesOf } from '#nodeagent/allocation/topology/numa-mask.js';
import type { Device } from '#nodeagent/devices/device.js';
import { deviceHints, type HintInput } from '#nodeagent/devices/hints.js';

const device = (id: string, nodes?: readonly number[]): [string, Device] => [
  id,
  { id, isHealthy: true, ...(nodes === undefined ? {} : { nodes }) },
];
const none: ReadonlySet<string> = new Set();

t.test('placements that suffice, and those that are preferred', async (t) => {
  const devices = new Map([device('a', [0]), device('b', [0]), device('c', [1]), device('d')]);
  const hints = (input: Partial<HintInput>) =>
    deviceHints({ count: 1, devices, available: new Set(devices.keys()), reusable: none, nodes: [0, 1], ...input }).map(
      ({ nodes = 0n, preferred }) => `${nodesOf(nodes).join('+')}${preferred ? ' preferred' : ''}`,
    );
  t.same(hints({}), ['0 preferred', '1 preferred', '0+1'], 'one');
  t.same(hints({ count: 2 }), ['0 preferred', '0+1'], 'two');
  t.same(hints({ count: 3 }), ['0+1 preferred'], 'three');
  t.same(hints({ count: 4 }), [], 'devices without topology do not count');
  t.same(hints({ count: 2, available: new Set(['a', 'c']) }), ['0+1'], 'node 0 would suffice if its devices were free');
  t.same(
    hints({ count: 2, available: new Set(['a']), reusable: new Set(['c']) }),
    ['0+1'],
    'reusable ones must be in it',
  );
  t.same(hints({ available: none, reusable: new Set(['d']) }), [], 'those without topology do not restrict');
});

/** All subsets of nodes, each judged by counting. */
function slowHints({ count, devices, available, reusable, nodes }: HintInput) {
  const masks = Array.from({ length: 2 ** nodes.length - 1 }, (_, i) => BigInt(i + 1));
  const isIn = (mask: bigint, id: string) => (devices.get(id)?.nodes ?? []).some((node) => hasNode(mask, node));
  const enough = masks.filter((mask) => [...devices.keys()].filter((id) => isIn(mask, id)).length >= count);
  const fewest = Math.min(nodes.length, ...enough.map(nodeCount));
  const pinned = [...reusable].filter((id) => devices.get(id)?.nodes !== undefined);
  return masks
    .filter((mask) => pinned.every((id) => isIn(mask, id)))
    .filter((mask) => pinned.length + [...available].filter((id) => isIn(mask, id)).length >= count)
    .map((mask) => `${mask}${nodeCount(mask) === fewest ? '!' : ''}`)
    .sort();
}

t.test('random devices against a slow reference', async (t) => {
  const seed = 20_262;
  const random = seededRandom(seed);
  const pick = (n: number) => Math.floor(random() * n);
  for (let round = 0; round < 500; round++) {
    const nodes = Array.from({ length: 1 + pick(4) }, (_, i) => i);
    const devices = new Map(
      Array.from({ length: 1 + pick(8) }, (_, i) =>
        random() < 0.2
          ? device(`d${i}`)
          : device(
              `d${i}`,
              nodes.filter(() => random() < 0.4),
            ),
      ),
    );
    const available = new Set([...devices.keys()].filter(() => random() < 0.7));
    const reusable = new Set([...devices.keys()].filter((id) => !available.has(id) && random() < 0.3));
    const input = { count: 1 + pick(5), devices, available, reusable, nodes };
    const hints = deviceHints(input).map(({ nodes: mask = maskOf([]), preferred }) => `${mask}${preferred ? '!' : ''}`);
    t.same(hints.sort(), slowHints(input), `seed ${seed}, round ${round}`);
  }
});
