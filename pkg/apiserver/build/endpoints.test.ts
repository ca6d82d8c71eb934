import t from 'tap';
import { externalAddress } from '#apiserver/build/endpoints.js';

t.test('the external address has the port of the server unless it names one', async (t) => {
  const listening = { address: '192.0.2.1', family: 'IPv4', port: 6443 };
  const rows: [host: string, address: string][] = [
    ['', '192.0.2.1:6443'],
    ['api.example', 'api.example:6443'],
    ['api.example:443', 'api.example:443'],
    ['192.0.2.7', '192.0.2.7:6443'],
    ['2001:db8::1', '[2001:db8::1]:6443'],
    ['[2001:db8::1]:443', '[2001:db8::1]:443'],
  ];
  for (const [host, address] of rows) t.equal(externalAddress(host, listening), address, host);
  t.equal(externalAddress('', undefined), '');
  t.equal(externalAddress('api.example', undefined), 'api.example', 'a server without a socket');
});
