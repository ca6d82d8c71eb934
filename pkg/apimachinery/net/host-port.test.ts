import t from 'tap';
import { hostPort } from '#apimachinery/net/host-port.js';

t.test('IPv6 addresses get brackets', async (t) => {
  t.equal(hostPort('192.0.2.1', 80), '192.0.2.1:80');
  t.equal(hostPort('node-a', '443'), 'node-a:443');
  t.equal(hostPort('fd00::1', 80), '[fd00::1]:80');
});
