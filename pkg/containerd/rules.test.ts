import t from 'tap';
import { removalOfRules } from '#containerd/rules.js';

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
