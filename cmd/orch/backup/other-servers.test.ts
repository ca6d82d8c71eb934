import { createServer } from 'node:net';
import t from 'tap';
import { otherServers, refuseRunningServers, settingsAlone, stepsForOthers } from '#cmd/orch/backup/other-servers.js';
import type { ClusterSettings } from '#cmd/orch/context/settings.js';

const member = (name: string, ...clientURLs: string[]) => ({ name, clientURLs });
const server = { name: 'server-a', address: '192.0.2.1', clientPort: 2379, peerPort: 2380 };

t.test('who else there was', async (t) => {
  const members = [member('server-a'), member('server-b')];
  t.same(otherServers({ members }, { server }), [member('server-b')]);
  t.same(otherServers({ members: [member('default')] }, {}), []);
  t.same(otherServers({}, { server }), [], 'backups of before do not tell');
});

t.test('the one that is restored is the only one', async (t) => {
  const settings = { nodes: ['a'], etcdPeerPort: 2380, server, joined: { server: 'https://192.0.2.2:6443' } };
  t.same(settingsAlone(settings as unknown as ClusterSettings), { nodes: ['a'], etcdPeerPort: 2380 });
});

t.test('others that run are in the way, others that do not answer are not', async (t) => {
  const listening = createServer();
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  t.teardown(() => listening.close());
  const address = listening.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const there = member('server-b', `https://127.0.0.1:${port}`);
  await t.rejects(refuseRunningServers([there]), {
    name: 'SetupError',
    message: /server-b \(https:.*\)\. Take each of them out, on its own machine: orch down --delete/,
  });
  await new Promise((resolve) => listening.close(resolve));
  await refuseRunningServers([there]);
  await refuseRunningServers([]);
  await t.rejects(
    refuseRunningServers([there, member('c', 'https://c')], async (url) => url === 'https://c'),
    /: c \(/,
  );
});

t.test('what is left to do', async (t) => {
  t.same(stepsForOthers([], '/d'), []);
  const text = stepsForOthers([member('server-b'), member('server-c')], '/d').join('\n');
  t.match(text, /other servers: server-b, server-c\./);
  t.match(text, /orch token create --server --data-dir=\/d\n[\s\S]*orch down --delete\n[\s\S]*--node-name server-c$/);
});
