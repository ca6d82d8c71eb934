import t from 'tap';
import { KernelNetwork } from '#podnetwork/kernel.js';

/** A runner that answers with the given state of the machine, and records all changes. */
function machine(answers: Readonly<Record<string, unknown>>, rules = true) {
  const done: string[] = [];
  const run = async (program: string, args: readonly string[]): Promise<string> => {
    const line = [program, ...args].join(' ');
    if (args.includes('--check') && !rules) throw Object.assign(new Error('no rule'), { code: 1 });
    if (args.includes('--check')) return '';
    const key = Object.keys(answers).find((each) => line.includes(each));
    if (key !== undefined) return JSON.stringify(answers[key]);
    if (args.includes('-json')) return '';
    done.push(line);
    return '';
  };
  return { done, kernel: new KernelNetwork({ run, ranges: ['10.244.0.0/16'], tunnel: 'vx' }) };
}

const route = { destination: '10.244.2.0/24', via: '192.0.2.2', link: 'eth0', onlink: false };
const shown = { dst: '10.244.2.0/24', gateway: '192.0.2.2', dev: 'eth0' };
const tunnel = {
  ...{ local: '192.0.2.1', link: 'eth0', mac: '0a:6f:c0:00:02:01', mtu: 1450, address: '10.244.1.0' },
  peers: [{ remote: '198.51.100.3', mac: '0a:6f:c6:33:64:03', gateways: ['198.51.100.3', '2001:db8:3::3'] }],
};
const shownTunnel = { ifname: 'vx', mtu: 1450, linkinfo: { info_data: { local: '192.0.2.1', link: 'eth0' } } };

t.test('addresses of links are parsed', async (t) => {
  const addresses = [
    { local: '192.0.2.1', prefixlen: 24, scope: 'global' },
    { local: 'fe80::1', prefixlen: 64, scope: 'link' },
  ];
  const { kernel } = machine({ 'address show': [{ ifname: 'eth0', mtu: 1400, addr_info: addresses }, {}] });
  t.same(await kernel.links(), [{ link: 'eth0', address: '192.0.2.1', prefix: 24, mtu: 1400 }]);
});

t.test('only different routes are changed', async (t) => {
  const plan = { routes: [route], tunnel: undefined, problems: [] };
  const right = machine({ '-4 route show': [shown, { dst: '172.16.0.0/24', gateway: '192.0.2.9', dev: 'eth0' }] });
  await right.kernel.apply(plan);
  t.same(right.done, [], 'foreign routes stay');
  const fresh = machine({}, false);
  await fresh.kernel.apply(plan);
  t.same(fresh.done, [
    'iptables --wait --table nat --insert POSTROUTING --source 10.244.0.0/16 --destination 10.244.0.0/16 --match mark ! --mark 0x2000/0x2000 --jump ACCEPT',
    'ip -4 route replace 10.244.2.0/24 via 192.0.2.2 dev eth0 proto 144',
  ]);
  const old = machine({
    '-4 route show': [
      { ...shown, dst: '10.244.9.0/24' },
      { ...shown, gateway: '192.0.2.8' },
    ],
  });
  await old.kernel.apply(plan);
  t.same(old.done, [
    'ip -4 route delete 10.244.9.0/24 proto 144',
    'ip -4 route replace 10.244.2.0/24 via 192.0.2.2 dev eth0 proto 144',
  ]);
});

t.test('the tunnel is created, changed and removed', async (t) => {
  const plan = { routes: [], tunnel, problems: [] };
  const fresh = machine({});
  await fresh.kernel.apply(plan);
  t.same(fresh.done, [
    'ip link add vx address 0a:6f:c0:00:02:01 mtu 1450 type vxlan id 4096 local 192.0.2.1 dev eth0 dstport 8472 nolearning noudpcsum',
    'ip address replace 10.244.1.0/32 dev vx',
    'ip link set vx up',
    'ip neighbour replace 198.51.100.3 lladdr 0a:6f:c6:33:64:03 dev vx nud permanent',
    'ip neighbour replace 2001:db8:3::3 lladdr 0a:6f:c6:33:64:03 dev vx nud permanent',
    'bridge fdb replace 0a:6f:c6:33:64:03 dev vx dst 198.51.100.3',
  ]);
  const old = machine({
    'link show type vxlan': [shownTunnel],
    '-4 neighbour show': [{ dst: '198.51.100.9', lladdr: '0a:6f:c6:33:64:09' }],
    '-6 neighbour show': [{ dst: '2001:db8:3::3', lladdr: '0a:6f:c6:33:64:03' }],
    'fdb show': [
      { mac: '0a:6f:c6:33:64:09', dst: '198.51.100.9' },
      { mac: '0a:6f:c6:33:64:03', dst: '198.51.100.3' },
    ],
  });
  await old.kernel.apply(plan);
  t.same(old.done.slice(2), [
    'ip neighbour replace 198.51.100.3 lladdr 0a:6f:c6:33:64:03 dev vx nud permanent',
    'ip neighbour delete 198.51.100.9 dev vx',
    'bridge fdb delete 0a:6f:c6:33:64:09 dev vx dst 198.51.100.9',
  ]);
  const moved = machine({
    'link show type vxlan': [{ ...shownTunnel, linkinfo: { info_data: { local: '192.0.2.7' } } }],
  });
  await moved.kernel.apply(plan);
  t.match(moved.done, ['ip link delete vx', /^ip link add vx /]);
  const needless = machine({ 'link show type vxlan': [shownTunnel] });
  await needless.kernel.apply({ routes: [], tunnel: undefined, problems: [] });
  t.same(needless.done, ['ip link delete vx']);
});

t.test('everything is removed', async (t) => {
  let exists = true;
  const done: string[] = [];
  const run = async (program: string, args: readonly string[]): Promise<string> => {
    const line = [program, ...args].join(' ');
    if (line.includes('-4 route show')) return JSON.stringify([shown]);
    if (args.includes('-json')) return '';
    if (args.includes('--delete') && !exists) throw Object.assign(new Error('no rule'), { code: 1 });
    if (args.includes('--delete')) exists = false;
    done.push(line);
    return '';
  };
  await new KernelNetwork({ run, ranges: ['10.244.0.0/16'], tunnel: 'vx' }).remove();
  t.match(done, ['ip -4 route delete 10.244.2.0/24 proto 144', /^iptables .* --delete POSTROUTING/]);
});
