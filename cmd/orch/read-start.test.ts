import t from 'tap';
import { readStart } from '#cmd/orch/read-start.js';

t.test('what an older release does not say is as by default', async (t) => {
  const start = readStart('{"dataDir":"/d","localStorage":false,"nodeIPs":["192.0.2.1"]}');
  t.match(start, { dataDir: '/d', localStorage: false, nodeIPs: ['192.0.2.1'], bindAddress: '0.0.0.0' });
  t.same(start.daemonOptions.apiServer, []);
  t.equal(start.clusterDns, 'built-in');
  t.throws(() => readStart('{}'), /names no data directory/);
  t.throws(() => readStart('{'));
});
