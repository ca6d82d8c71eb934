import type { NetworkInterfaceInfo } from 'node:os';
import t from 'tap';
import { type AddressSources, findNodeAddresses, type IPFamily } from '#nodeagent/node/address.js';
import { defaultRoutes4, defaultRoutes6 } from '#nodeagent/node/host-network.js';

interface Host {
  /** Addresses by interface. */
  readonly interfaces?: Readonly<Record<string, readonly string[]>>;
  readonly names?: Readonly<Record<string, readonly string[]>>;
  readonly routes?: { readonly [family in IPFamily]?: readonly string[] };
}

const lo = ['127.0.0.1', '::1'];

function sources({ interfaces = {}, names = {}, routes = {} }: Host): AddressSources {
  const info = (address: string): NetworkInterfaceInfo => ({
    address,
    netmask: '',
    mac: '',
    cidr: null,
    internal: lo.includes(address),
    ...(address.includes(':') ? { family: 'IPv6', scopeid: 0 } : { family: 'IPv4' }),
  });
  const all = Object.entries({ lo, ...interfaces }).map(([name, list]) => [name, list.map(info)] as const);
  return {
    interfaces: () => Object.fromEntries(all.map(([name, list]) => [name, [...list]])),
    lookup: async (name) => names[name] ?? [],
    defaultRoutes: async (family) => routes[family] ?? [],
  };
}

const eth = { eth0: ['fe80::1', '192.0.2.2', '2001:db8::2'], eth1: ['198.51.100.2'] };

t.test('the address of a node is selected as in 1.24', async (t) => {
  const rows: [name: string, Host, { nodeIPs?: string[]; nodeName?: string }, want: string][] = [
    ['as configured', { interfaces: eth }, { nodeIPs: ['198.51.100.2'] }, '198.51.100.2'],
    ['both families', { interfaces: eth }, { nodeIPs: ['2001:db8::2', '192.0.2.2'] }, '2001:db8::2 192.0.2.2'],
    ['written in another way', { interfaces: eth }, { nodeIPs: ['2001:db8:0::2'] }, '2001:db8:0::2'],
    ['loopback if configured', { interfaces: eth }, { nodeIPs: ['127.0.0.1'] }, '127.0.0.1 !'],
    [
      'none of the host',
      { interfaces: eth },
      { nodeIPs: ['203.0.113.9'] },
      `failed to validate nodeIP: node IP: "203.0.113.9" not found in the host's network interfaces`,
    ],
    [
      'link-local',
      { interfaces: eth },
      { nodeIPs: ['fe80::1'] },
      "failed to validate nodeIP: nodeIP can't be a link-local unicast address",
    ],
    [
      'multicast',
      { interfaces: eth },
      { nodeIPs: ['224.0.0.5'] },
      "failed to validate nodeIP: nodeIP can't be a multicast address",
    ],
    ['a host name that is an address', { interfaces: eth }, { nodeName: '203.0.113.9' }, '203.0.113.9'],
    [
      'the first of the name that an interface has',
      { interfaces: eth, names: { n1: ['127.0.1.1', '203.0.113.9', '198.51.100.2', '192.0.2.2'] } },
      {},
      '198.51.100.2',
    ],
    ['IPv4 first', { interfaces: eth, names: { n1: ['2001:db8::2', '192.0.2.2'] } }, {}, '192.0.2.2'],
    ['IPv6 if that is all', { interfaces: eth, names: { n1: ['2001:db8::2'] } }, {}, '2001:db8::2'],
    [
      'IPv6 first if configured',
      { interfaces: eth, names: { n1: ['192.0.2.2', '2001:db8::2'] } },
      { nodeIPs: ['::'] },
      '2001:db8::2',
    ],
    [
      'a name of loopback only: the default route',
      { interfaces: eth, names: { n1: ['127.0.0.1'] }, routes: { IPv4: ['gone', 'eth1', 'eth0'] } },
      {},
      '198.51.100.2',
    ],
    [
      'the default route of IPv6',
      { interfaces: eth, routes: { IPv4: ['eth0'], IPv6: ['eth0'] } },
      { nodeIPs: ['::'] },
      '2001:db8::2',
    ],
    [
      'no default route: any interface but those of containers',
      { interfaces: { cni0: ['10.244.0.1'], eth0: ['192.0.2.2'] } },
      {},
      '192.0.2.2',
    ],
    ['nothing else', { interfaces: { cni0: ['10.244.0.1'], eth0: ['fe80::1'] } }, {}, '127.0.0.1 !'],
  ];
  for (const [name, host, { nodeIPs = [], nodeName = 'n1' }, want] of rows) {
    let got: string;
    try {
      const { addresses, warning } = await findNodeAddresses({ nodeIPs, nodeName }, sources(host));
      got = `${addresses.join(' ')}${warning === undefined ? '' : ' !'}`;
    } catch (error) {
      got = (error as Error).message;
    }
    t.equal(got, want, name);
  }
});

t.test('default routes are parsed from /proc', (t) => {
  const table = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth1\t0002000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
ppp0\t00000000\t00000000\t0001\t0\t0\t9\t00000000\t0\t0\t0
down\t00000000\t010200C0\t0002\t0\t0\t0\t00000000\t0\t0\t0
half\t00000000\t010200C0\t0003\t0\t0\t0\t00000080\t0\t0\t0
`;
  t.same(defaultRoutes4(table), ['eth0', 'ppp0']);
  const zero = '0'.repeat(32);
  const via = 'fd000000000000000000000000000001';
  const lines = [
    `fd000000000000000000000000000000 40 ${zero} 00 ${zero} 00000100 00000001 00000000 00000001     eth0`,
    `${zero} 00 ${zero} 00 ${via} 00000400 00000002 00000000 00000003     eth0`,
    `${zero} 00 ${zero} 00 ${zero} ffffffff 00000001 00000000 00200200       lo`,
  ];
  t.same(defaultRoutes6(`${lines.join('\n')}\n`), ['eth0']);
  t.same([...defaultRoutes4(''), ...defaultRoutes6('')], []);
  t.end();
});
