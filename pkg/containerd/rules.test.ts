import t from 'tap';
import { removalOfRules, removalOfSharedChains } from '#containerd/rules.js';

const comment = (network: string, what = '') => `-m comment --comment "${what}name: \\"${network}\\" id: \\"1\\""`;
const own = 'CNI-df824ce8503052c5ef0e23ef';
const foreign = 'CNI-ae824ce8503052c5ef0e23ef';
const ports = 'CNI-DN-cf824ce8503052c5ef0e2';

t.test('only the rules of the network are removed', async (t) => {
  const saved = [
    '*nat',
    `:${own} - [0:0]`,
    '-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT',
    `-A POSTROUTING -s 10.0.0.2/32 ${comment('cni1')} -j ${own}`,
    `-A POSTROUTING -s 10.0.0.2/32 ${comment('cni12')} -j ${foreign}`,
    `-A CNI-HOSTPORT-DNAT -p tcp ${comment('cni1', 'dnat ')} -m multiport --dports 80 -j ${ports}`,
    `-A ${own} -d 10.0.0.0/24 ${comment('cni1')} -j ACCEPT`,
    `-A ${own} ! -d 224.0.0.0/4 ${comment('cni1')} -j MASQUERADE`,
    `-A ${foreign} -d 10.0.0.0/24 ${comment('cni12')} -j ACCEPT`,
    `-A ${ports} -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.0.0.2:80`,
    'COMMIT',
  ].join('\n');
  t.equal(
    removalOfRules(saved, 'cni1'),
    [
      '*nat',
      `-D POSTROUTING -s 10.0.0.2/32 ${comment('cni1')} -j ${own}`,
      `-D CNI-HOSTPORT-DNAT -p tcp ${comment('cni1', 'dnat ')} -m multiport --dports 80 -j ${ports}`,
      `-F ${own}`,
      `-F ${ports}`,
      `-X ${own}`,
      `-X ${ports}`,
      'COMMIT',
      '',
    ].join('\n'),
  );
  t.equal(removalOfRules(saved, 'cni123'), undefined);
  t.equal(removalOfRules('', 'cni1'), undefined);
});

t.test('the chains of host ports go with the last network', async (t) => {
  const jump = '-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT';
  const masquerade = '-A POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ';
  const saved = [
    ...['*nat', ':PREROUTING ACCEPT [0:0]', ':CNI-HOSTPORT-DNAT - [0:0]', ':CNI-HOSTPORT-MASQ - [0:0]'],
    ...[jump, '-A PREROUTING -j OTHER', masquerade, '-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE'],
  ];
  t.equal(
    removalOfSharedChains([...saved, 'COMMIT'].join('\n')),
    [
      ...['*nat', jump.replace('-A', '-D'), masquerade.replace('-A', '-D')],
      ...['-F CNI-HOSTPORT-DNAT', '-F CNI-HOSTPORT-MASQ', '-X CNI-HOSTPORT-DNAT', '-X CNI-HOSTPORT-MASQ', 'COMMIT', ''],
    ].join('\n'),
    'jumps to them first',
  );
  t.equal(removalOfSharedChains([...saved, `:${foreign} - [0:0]`].join('\n')), undefined, 'a sandbox of another one');
  const port = `-A CNI-HOSTPORT-DNAT -p tcp -m multiport --dports 80 -j ${ports}`;
  t.equal(removalOfSharedChains([...saved, port].join('\n')), undefined, 'a host port of another one');
  t.equal(removalOfSharedChains('*nat\n:PREROUTING ACCEPT [0:0]\nCOMMIT\n'), undefined, 'none are there');
});
