/** The example daemon of the documentation, run as a process from the printed code. */
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { ended, startApi, until } from '#test/integration/daemons/api.js';

t.test('the documented daemon is the one that is tested', async (t) => {
  // Tests run compiled, below dist.
  const root = new URL('../../../../', import.meta.url);
  const page = await readFile(new URL('docs/writing-a-daemon.md', root), 'utf8');
  const source = await readFile(new URL('test/integration/daemons/pod-counter.ts', root), 'utf8');
  const [, printed] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
  t.equal(printed, source);
  t.ok(source.trimEnd().split('\n').length <= 60);
});

t.test('it counts', async (t) => {
  const test = await startApi(t, { dialect });
  const { client } = test;
  await until('the namespace', async () => {
    await client.request('GET', '/api/v1/namespaces/default');
    return true;
  });
  for (const name of ['one', 'two']) await client.resource(nodes).create({ metadata: { name }, spec: {} });
  const pod = (name: string, nodeName: string) =>
    client.resource(pods).create({
      metadata: { name, namespace: 'default' },
      spec: { nodeName, automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] },
    });
  await client.request('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  await pod('a', 'one');
  const daemon = test.start('#test/integration/daemons/pod-counter.js', [
    '--dialect=kubernetes',
    `--kubeconfig=${test.config}`,
    '--bind-address=127.0.0.1',
    '--secure-port=0',
  ]);
  const counts = (name: string, count: string) =>
    until(`${count} pods on ${name}`, async () => {
      const node = await client.resource(nodes).get(name);
      return node.metadata.annotations?.['example.com/pods'] === count;
    });
  await counts('one', '1');
  await counts('two', '0');
  await pod('b', 'two');
  await counts('two', '1');
  await client.resource(pods).delete('a', { namespace: 'default', gracePeriodSeconds: 0 });
  await counts('one', '0');
  daemon.kill('SIGTERM');
  t.equal(await ended(daemon), 0);
});
