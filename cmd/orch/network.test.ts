import t from 'tap';
import { firstServiceAddress, nodeRange, unusedRange } from '#cmd/orch/network.js';

t.equal(firstServiceAddress('10.96.0.0/16'), '10.96.0.1');
t.equal(firstServiceAddress('10.96.3.7/16'), '10.96.0.1', 'the range counts, not the address in it');
t.equal(firstServiceAddress('200.0.0.0/24'), '200.0.0.1');
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
