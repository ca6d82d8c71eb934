import t from 'tap';
import { readStart } from '#cluster/config/start-options.js';

t.test('options that the JSON of an older release lacks get their defaults', async (t) => {
  const start = readStart('{"dataDir":"/d","localStorage":false,"nodeIPs":["192.0.2.1"]}');
  t.match(start, { dataDir: '/d', localStorage: false, nodeIPs: ['192.0.2.1'], bindAddress: '0.0.0.0' });
  t.same(start.daemonOptions.apiServer, []);
  t.equal(start.clusterDns, 'built-in');
  t.throws(() => readStart('{}'), /have no dataDir/);
  t.throws(() => readStart('{'));
});
