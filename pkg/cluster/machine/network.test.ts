import t from 'tap';
import {
  firstServiceAddress,
  freeRange,
  nodeRange,
  overlaps,
  parseHostNetworks,
  primaryRange,
  unusedRange,
} from '#cluster/machine/network.js';
import { refuseCollisions, refusePodRange, refuseServiceRange } from '#cluster/machine/network-ranges.js';

t.equal(firstServiceAddress('10.96.0.0/16'), '10.96.0.1');
t.equal(firstServiceAddress('10.96.3.7/16'), '10.96.0.1', 'the range counts, not the address in it');
t.equal(firstServiceAddress('200.0.0.0/24'), '200.0.0.1');
t.equal(primaryRange('10.244.0.0/16'), '10.244.0.0/16');
t.equal(primaryRange('fd00::/48,10.244.0.0/16'), '10.244.0.0/16');
for (const [range, problem] of [
  ['10.244.0.0/16', undefined],
  ['10.244.0.0/16,fd00::/48', undefined],
  ['10.244.0.0/24', /no room for a \/24 for node 3/],
  ['10.244.0.0/25', /no room for a node's \/24/],
  ['fd00::/48', /.*/],
  ['10.0.0.0/16,10.1.0.0/16', /different families/],
] as const) {
  if (problem === undefined) t.doesNotThrow(() => refusePodRange(range, 3), range);
  else t.throws(() => refusePodRange(range, 3), { name: 'SetupError', message: problem }, range);
}
t.equal(nodeRange('10.244.0.0/16', 0), '10.244.0.0/24');
t.equal(nodeRange('10.244.0.0/16', 255), '10.244.255.0/24');
t.equal(nodeRange('10.0.0.0/8', 256), '10.1.0.0/24');
t.throws(() => nodeRange('10.244.0.0/16', 256), { name: 'RangeError', message: /--cluster-cidr/ });
t.throws(() => nodeRange('10.244.0.0/25', 0), { name: 'RangeError' });
for (const wrong of ['', '10.0.0.0', '10.0.0.0/33', '300.0.0.0/8', 'fd00::/64']) {
  t.throws(() => firstServiceAddress(wrong), { name: 'RangeError' }, wrong);
}

t.equal(unusedRange('10.244.0.0/16', ['192.0.2.1']), '10.244.0.0/16');
t.equal(unusedRange('10.244.0.0/16', ['10.244.0.1', '10.245.7.1', '10.247.0.1']), '10.246.0.0/16');

const listed = `1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever
4: eth0    inet 192.0.2.2/24 brd 192.0.2.255 scope global eth0\\       valid_lft forever preferred_lft forever
5: tun0@if4    inet 10.8.0.6 peer 10.8.0.5/32 scope global tun0\\       valid_lft forever preferred_lft forever
6: docker0    inet 10.244.3.1/24 brd 10.244.3.255 scope global docker0\\       valid_lft forever preferred_lft forever
7: vpn0    inet 172.16.0.9/12 scope global vpn0\\       valid_lft forever preferred_lft forever
`;
const networks = parseHostNetworks(listed);
t.same(networks, [
  { link: 'lo', address: '127.0.0.1', bits: 8 },
  { link: 'eth0', address: '192.0.2.2', bits: 24 },
  { link: 'tun0', address: '10.8.0.6', bits: 32 },
  { link: 'docker0', address: '10.244.3.1', bits: 24 },
  { link: 'vpn0', address: '172.16.0.9', bits: 12 },
]);

for (const [range, link] of [
  ['10.244.0.0/16', 'docker0'],
  ['10.244.3.0/24', 'docker0'],
  ['10.244.3.128/25', 'docker0'],
  ['10.244.4.0/24', undefined],
  ['172.20.0.0/16', 'vpn0'],
  ['172.32.0.0/16', undefined],
  ['127.0.0.0/24', 'lo'],
  ['0.0.0.0/0', 'lo'],
] as const) {
  t.equal(networks.find((network) => overlaps(range, network))?.link, link, range);
}

t.equal(freeRange('10.244.0.0/16', networks), '10.0.0.0/16');
t.equal(freeRange('10.244.0.0/8', networks), undefined);
t.equal(freeRange('10.244.0.0/12', networks), '10.16.0.0/12');

t.throws(() => refuseCollisions(new Map([['cluster-cidr', '10.244.0.0/16']]), networks), {
  name: 'SetupError',
  message:
    '--cluster-cidr 10.244.0.0/16 overlaps the network of interface docker0 of this machine (10.244.3.1/24); give a free one, for example --cluster-cidr=10.0.0.0/16, or remove the interface',
});
t.throws(() => refuseCollisions(new Map([['service-cluster-ip-range', 'all']]), networks), {
  name: 'SetupError',
  message: '--service-cluster-ip-range: "all" is no IPv4 range',
});
t.doesNotThrow(() => refuseCollisions(new Map([['cluster-cidr', '10.245.0.0/16']]), networks));

for (const range of ['10.96.0.0/16', '10.96.0.0/16,fd00:96::/112'])
  t.doesNotThrow(() => refuseServiceRange(range), range);
for (const range of [
  '',
  'all',
  'fd00:96::/112',
  'fd00:96::/112,10.96.0.0/16',
  '10.96.0.0/16,10.97.0.0/16',
  '10.96.0.0/16,',
])
  t.throws(() => refuseServiceRange(range), { name: 'SetupError', message: /--service-cluster-ip-range/ }, range);
