import t from 'tap';
import { parseNodeSettings } from '#cluster/objects/node-settings.js';

t.test('malformed node settings are refused', (t) => {
  const settings = {
    podRange: '10.244.0.0/16',
    serviceRange: '10.96.0.0/16',
    clusterDomain: 'cluster.local',
    clusterDns: 'built-in',
    serviceProxy: 'none',
  };
  t.same(parseNodeSettings(JSON.stringify(settings)), settings);
  for (const text of ['', 'null', '[]', '"x"']) t.throws(() => parseNodeSettings(text), /the cluster's settings/, text);
  for (const field of Object.keys(settings)) {
    for (const value of [undefined, '', 1])
      t.throws(() => parseNodeSettings(JSON.stringify({ ...settings, [field]: value })), new RegExp(`no ${field}`));
  }
  t.end();
});
