import { createServer } from 'node:net';
import t from 'tap';
import {
  otherServers,
  refuseRunningServers,
  singleServerSettings,
  stepsForOthers,
} from '#cluster/backup/other-servers.js';
import type { ClusterSettings } from '#cluster/config/settings.js';

const member = (name: string, ...clientURLs: string[]) => ({ name, clientURLs });
const server = { name: 'server-a', address: '192.0.2.1', clientPort: 2379, peerPort: 2380 };

t.test('the manifest names the other servers', async (t) => {
  const members = [member('server-a'), member('server-b')];
  t.same(otherServers({ members }, { server }), [member('server-b')]);
  t.same(otherServers({ members: [member('default')] }, {}), []);
  t.same(otherServers({}, { server }), [], 'backups of older releases have no members');
});

t.test('the restored server is a single one', async (t) => {
  const settings = { nodes: ['a'], etcdPeerPort: 2380, server, joined: { server: 'https://192.0.2.2:6443' } };
  t.same(singleServerSettings(settings as unknown as ClusterSettings), { nodes: ['a'], etcdPeerPort: 2380 });
});

t.test('running servers prevent a restore, unreachable ones do not', async (t) => {
  const listening = createServer();
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  t.teardown(() => listening.close());
  const address = listening.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const other = member('server-b', `https://127.0.0.1:${port}`);
  await t.rejects(refuseRunningServers([other]), {
    name: 'SetupError',
    message: /server-b \(https:.*\)\. Remove each of them, on its own machine: orch down --delete/,
  });
  await new Promise((resolve) => listening.close(resolve));
  await refuseRunningServers([other]);
  await refuseRunningServers([]);
  await t.rejects(
    refuseRunningServers([other, member('c', 'https://c')], async (url) => url === 'https://c'),
    /: c \(/,
  );
});

t.test('the instructions name the commands for the other servers', async (t) => {
  t.same(stepsForOthers([], '/d'), []);
  const text = stepsForOthers([member('server-b'), member('server-c')], '/d').join('\n');
  t.match(text, /other servers: server-b, server-c\./);
  t.match(text, /orch token create --server --data-dir=\/d\n[\s\S]*orch down --delete\n[\s\S]*--node-name server-c$/);
});
