import t from 'tap';
import { type LinkAddress, type PodNode, planNetwork } from '#podnetwork/plan.js';

const node = (name: string, podCIDRs: string[], ...addresses: string[]): PodNode => ({ name, podCIDRs, addresses });
const link = (name: string, address: string, prefix: number, mtu = 1500): LinkAddress => ({
  ...{ link: name, address, prefix, mtu },
});

const n1 = node('n1', ['10.244.1.0/24'], '192.0.2.1');
const n2 = node('n2', ['10.244.2.0/24'], '192.0.2.2');
const far = node('far', ['10.244.3.0/24'], '198.51.100.3');
const eth0 = link('eth0', '192.0.2.1', 24);
const bridge = link('cni0', '10.244.1.1', 24);
const tunnel = 'vx';
const plan = (nodes: PodNode[], links = [eth0, bridge], own = ['n1']) =>
  planNetwork({ nodes, own: new Set(own), links, tunnel });
const toN2 = { destination: '10.244.2.0/24', via: '192.0.2.2', link: 'eth0', onlink: false };
const toFar = { destination: '10.244.3.0/24', via: '198.51.100.3', link: 'vx', onlink: true };

t.test('routes lead to the nodes’ networks', (t) => {
  const v6 = node('n2', ['10.244.2.0/24', 'fd00:2::/64'], '192.0.2.2', '2001:db8::2');
  const rows: [name: string, result: ReturnType<typeof plan>, routes: object[], problems: RegExp[]][] = [
    ['alone', plan([n1]), [], []],
    ['a neighbour', plan([n2, n1]), [toN2], []],
    ['before the own node exists', plan([n2]), [toN2], []],
    ['a node without a range yet', plan([n1, node('n2', [], '192.0.2.2')]), [], []],
    ['another node of this machine', plan([n1, node('n2', ['10.244.2.0/24'], '192.0.2.1')]), [], []],
    ['several nodes of this machine', plan([n1, n2], undefined, ['n1', 'n2']), [], []],
    ['a node behind a router', plan([n1, n2, far]), [toFar, toN2], []],
    [
      'both families',
      plan([n1, v6], [eth0, link('eth1', '2001:db8::1', 64)]),
      [toN2, { destination: 'fd00:2::/64', via: '2001:db8::2', link: 'eth1', onlink: false }],
      [],
    ],
    [
      'a family that is not on this network goes through the tunnel of the other',
      plan([n1, v6]),
      [toN2, { destination: 'fd00:2::/64', via: '2001:db8::2', link: 'vx', onlink: true }],
      [],
    ],
    [
      'a node without the family of the tunnel',
      plan([n1, node('n2', ['fd00:2::/64'], '2001:db8::2')]),
      [],
      [/n2 is on another network, and has no IPv4 address/],
    ],
    ['without an address', plan([n1, node('n2', ['10.244.2.0/24'])]), [], [/n2 has no address/]],
    ['behind a router, before there is a range', plan([far]), [], []],
    [
      'behind a router, without an address',
      plan([node('n1', ['10.244.1.0/24']), far]),
      [],
      [/this node has no address/],
    ],
    // The network of its own pods does not lead to other nodes.
    [
      'in the range of the bridge',
      plan([n1, node('n2', ['10.9.0.0/24'], '10.244.1.9')], [bridge]),
      [],
      [/on another network/],
    ],
  ];
  for (const [name, { routes, problems }, expectedRoutes, expectedProblems] of rows) {
    t.same(routes, expectedRoutes, name);
    t.match(problems, expectedProblems, name);
    t.equal(problems.length, expectedProblems.length, name);
  }
  t.end();
});

t.test('the tunnel leads to nodes behind routers', (t) => {
  t.equal(plan([n1, n2]).tunnel, undefined);
  t.same(plan([n1, n2, far], [link('eth0', '192.0.2.1', 24, 1400), bridge]).tunnel, {
    local: '192.0.2.1',
    link: 'eth0',
    mac: '0a:6f:c0:00:02:01',
    mtu: 1350,
    address: '10.244.1.0',
    peers: [{ remote: '198.51.100.3', mac: '0a:6f:c6:33:64:03', gateways: ['198.51.100.3'] }],
  });
  const both = node('far', ['10.244.3.0/24', 'fd00:3::/64'], '198.51.100.3', '2001:db8:3::3');
  t.match(plan([n1, both]).tunnel?.peers, [{ remote: '198.51.100.3', gateways: ['198.51.100.3', '2001:db8:3::3'] }]);
  const six = node('n1', ['fd00:1::/64'], '2001:db8::1');
  t.match(plan([six, both], [link('eth0', '2001:db8::1', 64)]).tunnel, {
    local: '2001:db8::1',
    mtu: 1430,
    address: undefined,
    peers: [{ remote: '2001:db8:3::3', gateways: ['198.51.100.3', '2001:db8:3::3'] }],
  });
  // Both ends derive the same hardware addresses.
  const farPlan = planNetwork({
    nodes: [n1, far],
    own: new Set(['far']),
    links: [link('ens3', '198.51.100.3', 24)],
    tunnel,
  });
  t.match(farPlan.tunnel, { mac: '0a:6f:c6:33:64:03', peers: [{ mac: '0a:6f:c0:00:02:01' }] });
  t.end();
});
