import t from 'tap';
import type { Node } from '#api/core/v1/types.gen.js';
import { parseCIDR } from '#apimachinery/net/ip.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { CidrSet } from '#controllers/nodeipam/cidr-set.js';
import { NodeBlocks } from '#controllers/nodeipam/node-blocks.js';
import { nodeRanges, type RangeOptions, rangeErrors, serviceRanges } from '#controllers/nodeipam/ranges.js';

const block = (cidr: string) => {
  const parsed = parseCIDR(cidr);
  if (parsed === undefined) throw new Error(cidr);
  return parsed;
};

function setOf(cidr: string, prefix: number) {
  const changes = { allocations: 0, releases: 0 };
  const set = new CidrSet(block(cidr), prefix, (change) => {
    changes[change] += 1;
  });
  return { set, changes };
}

t.test('a range is divided into blocks, which are allocated in order', (t) => {
  const rows: [range: string, prefix: number, size: number, first: string, last: string][] = [
    ['10.244.0.0/16', 24, 256, '10.244.0.0/24', '10.244.255.0/24'],
    ['10.244.7.9/22', 24, 4, '10.244.4.0/24', '10.244.7.0/24'],
    ['0.0.0.0/0', 16, 65_536, '0.0.0.0/16', '255.255.0.0/16'],
    ['10.1.2.3/32', 32, 1, '10.1.2.3/32', '10.1.2.3/32'],
    ['fd00:10::/48', 64, 65_536, 'fd00:10::/64', 'fd00:10:0:ffff::/64'],
    ['fd00::/126', 128, 4, 'fd00::/128', 'fd00::3/128'],
  ];
  for (const [range, prefix, size, first, last] of rows) {
    const { set } = setOf(range, prefix);
    t.equal(set.size, size, range);
    const blocks = Array.from({ length: size }, () => set.allocate());
    const [start, end] = [blocks[0], blocks.at(-1)];
    t.equal(start && set.cidr(start), first, range);
    t.equal(end && set.cidr(end), last, range);
    t.equal(set.allocate(), undefined, 'no free block is left');
  }
  for (const prefix of [15, 33]) t.throws(() => setOf('10.0.0.0/16', prefix), RangeError);
  t.end();
});

t.test('a network maps to the blocks that it overlaps', (t) => {
  const { set } = setOf('10.244.16.0/20', 24);
  const rows: [network: string, span: object | undefined][] = [
    ['10.244.16.0/24', { first: 0, last: 0 }],
    ['10.244.31.128/25', { first: 15, last: 15 }],
    ['10.244.18.0/23', { first: 2, last: 3 }],
    ['10.244.0.0/16', { first: 0, last: 15 }],
    ['0.0.0.0/0', { first: 0, last: 15 }],
    ['10.244.32.0/24', undefined],
    ['10.244.15.0/24', undefined],
    ['fd00::/8', undefined],
  ];
  for (const [network, span] of rows) t.same(set.spanOf(block(network)), span, network);
  t.end();
});

t.test('unused blocks are allocated first, then the block that was free the longest', (t) => {
  const { set, changes } = setOf('10.0.0.0/30', 32);
  const [a, b] = [set.allocate(), set.allocate()];
  if (a === undefined || b === undefined) throw new Error('nothing to take');
  set.free(b);
  set.free(a);
  const order = Array.from({ length: 4 }, () => set.allocate()?.first);
  t.same(order, [2, 3, 1, 0]);
  t.same(changes, { allocations: 6, releases: 2 });
  set.hold(a);
  set.free(a);
  t.equal(set.used, 4, 'the block has two holders');
  set.free(a);
  t.equal(set.allocate()?.first, 0);
  t.end();
});

t.test('allocation equals a naive model', (t) => {
  const seed = Math.floor(Math.random() * 1e9);
  t.comment(`seed ${seed}`);
  const random = seededRandom(seed);
  const { set, changes } = setOf('10.0.0.0/26', 32);
  const held: { first: number; last: number }[] = [];
  const covers = (i: number) => held.some(({ first, last }) => first <= i && i <= last);
  for (let step = 0; step < 5000; step += 1) {
    const dice = random();
    if (dice < 0.4) {
      const span = set.allocate();
      if (span === undefined) t.equal(set.used, 64);
      else {
        if (covers(span.first)) t.fail(`${span.first} was held`);
        held.push(span);
      }
    } else if (dice < 0.6) {
      const first = Math.floor(random() * 64);
      const span = { first, last: Math.min(63, first + Math.floor(random() * 4)) };
      set.hold(span);
      held.push(span);
    } else {
      const [span] = held.splice(Math.floor(random() * held.length), 1);
      if (span !== undefined) set.free(span);
    }
    const used = Array.from({ length: 64 }, (_, i) => i).filter(covers).length;
    if (set.used !== used) t.fail(`${set.used} in use, not ${used}`);
  }
  t.equal(changes.allocations - changes.releases, set.used);
  t.end();
});

const node = (name: string, uid: string, version: number, podCIDRs: string[] = []): Node => ({
  metadata: { name, uid, resourceVersion: String(version) },
  spec: { podCIDRs },
});

t.test('blocks are held until their node is deleted', (t) => {
  const { set } = setOf('10.0.0.0/29', 31);
  const { set: other } = setOf('fd00::/62', 64);
  const blocks = new NodeBlocks([set, other]);
  const own = ['10.0.0.0/31', 'fd00::/64'];
  t.same(blocks.reserve(node('a', '1', 1)), own);
  t.same(blocks.reserve(node('a', '1', 5)), own, 'the reservation is stable');
  t.same(blocks.reserve(node('a', '2', 6)), ['10.0.0.2/31', 'fd00:0:0:1::/64'], 'another node with the name');
  t.equal(blocks.freeDeleted('a', undefined, '4'), false, 'the second node may still exist');
  t.equal(set.used, 1, 'the first node is deleted');
  t.equal(blocks.freeDeleted('a', undefined, '6'), true);
  t.equal(set.used + other.used, 0);
  t.same(blocks.observe(node('b', '3', 7, ['10.0.0.6/31', 'fd00:0:0:3::/64'])), []);
  t.same(blocks.observe(node('c', '4', 8, ['10.0.0.6/31', '192.168.0.0/24'])), ['192.168.0.0/24']);
  t.equal(blocks.freeDeleted('b', undefined, '9'), true);
  t.equal(set.used, 1, 'another node has the same block');
  t.same(blocks.reserve(node('d', '5', 9)), ['10.0.0.4/31', 'fd00:0:0:2::/64']);
  t.same(blocks.observe(node('d', '5', 10, ['10.0.0.2/31'])), [], 'another client assigned a range');
  t.equal(set.used, 2);
  t.equal(other.used, 0, 'the reservation is freed');
  t.same(blocks.observe(node('d', '5', 9, ['10.0.0.0/29'])), [], 'an older version is ignored');
  t.equal(set.used, 2);
  for (const name of ['e', 'f']) t.ok(blocks.reserve(node(name, name, 11)));
  t.equal(blocks.reserve(node('g', 'g', 11)), undefined);
  t.equal(other.used, 2, 'both families or none');
  t.end();
});

const defaults: RangeOptions = {
  'cidr-allocator-type': 'RangeAllocator',
  'node-cidr-mask-size': 0,
  'node-cidr-mask-size-ipv4': 24,
  'node-cidr-mask-size-ipv6': 64,
};

t.test('invalid option combinations are rejected', (t) => {
  const v4 = { 'cluster-cidr': '10.0.0.0/16' };
  const v6 = { 'cluster-cidr': 'fd00::/56' };
  const both = { 'cluster-cidr': '10.0.0.0/16,fd00::/56' };
  const rows: [Partial<RangeOptions>, string | undefined][] = [
    [{}, '--allocate-node-cidrs requires --cluster-cidr'],
    [v4, undefined],
    [v6, undefined],
    [both, undefined],
    [{ 'cluster-cidr': ' fd00::/56 , 10.0.0.0/16' }, undefined],
    [{ 'cluster-cidr': '10.0.0.0' }, '--cluster-cidr: "10.0.0.0" is no CIDR'],
    [{ 'cluster-cidr': '10.0.0.0/16,' }, '--cluster-cidr: "" is no CIDR'],
    [{ 'cluster-cidr': '10.0.0.0/16,10.1.0.0/16' }, '--cluster-cidr: two ranges must be of different families'],
    [{ 'cluster-cidr': '10.0.0.0/16,fd00::/56,10.1.0.0/16' }, '--cluster-cidr must not have more than two ranges'],
    [
      { 'cluster-cidr': '10.0.0.0/25' },
      "--cluster-cidr 10.0.0.0/25 has no room for a node's /24: it must be between /25 and /32",
    ],
    [
      { ...v4, 'node-cidr-mask-size': 33 },
      "--cluster-cidr 10.0.0.0/16 has no room for a node's /33: it must be between /16 and /32",
    ],
    [
      { 'cluster-cidr': 'fd00::/47' },
      '--cluster-cidr fd00::/47 has too many ranges of /64 for nodes; give them /63 at most',
    ],
    [{ ...v4, 'node-cidr-mask-size': 26 }, undefined],
    [
      { ...both, 'node-cidr-mask-size': 26 },
      '--node-cidr-mask-size must not be given with two ranges: each family has an option of its own',
    ],
    [
      { ...v4, 'node-cidr-mask-size': 26, 'node-cidr-mask-size-ipv4': 25 },
      '--node-cidr-mask-size-ipv4 must not be combined with --node-cidr-mask-size',
    ],
    [
      { ...v4, 'node-cidr-mask-size-ipv6': 64 },
      '--node-cidr-mask-size-ipv6 requires a range of IPv6 in --cluster-cidr',
    ],
    [
      { ...v6, 'node-cidr-mask-size-ipv4': 24 },
      '--node-cidr-mask-size-ipv4 requires a range of IPv4 in --cluster-cidr',
    ],
    [{ ...both, 'node-cidr-mask-size-ipv4': 25, 'node-cidr-mask-size-ipv6': 60 }, undefined],
    [{ ...v4, 'service-cluster-ip-range': '10.0.0.0/24,fd01::/112' }, undefined],
    [
      { ...v4, 'service-cluster-ip-range': '10.0.0.0/24,10.1.0.0/24' },
      '--service-cluster-ip-range: two ranges must be of different families',
    ],
    [{ ...v4, 'cidr-allocator-type': 'x' }, '--cidr-allocator-type: unknown type "x"'],
    [
      { 'cidr-allocator-type': 'CloudAllocator' },
      '--cidr-allocator-type=CloudAllocator requires a cloud provider, and there is none',
    ],
  ];
  for (const [options, want] of rows) {
    const errors = rangeErrors({ ...defaults, ...options }, new Set(Object.keys(options)));
    t.same(errors, want === undefined ? [] : [want], JSON.stringify(options));
  }
  t.end();
});

t.test('each family has its prefix length in the options', (t) => {
  const rows: [Partial<RangeOptions>, string[]][] = [
    [{ 'cluster-cidr': '10.0.0.0/16' }, ['4/24']],
    [{ 'cluster-cidr': 'fd00::/56' }, ['6/64']],
    [{ 'cluster-cidr': 'fd00::/56', 'node-cidr-mask-size': 60 }, ['6/60']],
    [{ 'cluster-cidr': 'fd00::/56,10.0.0.0/16', 'node-cidr-mask-size-ipv4': 25 }, ['6/64', '4/25']],
    [{ 'cluster-cidr': '10.0.0.0/16', 'node-cidr-mask-size-ipv4': 0 }, ['4/24']],
  ];
  for (const [options, want] of rows) {
    const ranges = nodeRanges({ ...defaults, ...options });
    t.same(
      ranges.map(({ range, prefix }) => `${range.family}/${prefix}`),
      want,
    );
  }
  t.match(serviceRanges({ ...defaults, 'service-cluster-ip-range': '10.0.0.0/24, x' }), {
    ranges: [{ family: 4, prefix: 24 }],
    unknown: ['x'],
  });
  t.end();
});
