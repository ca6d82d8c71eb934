/** Two replicas of an operator run: requests are carried out, also after the leader is killed. */
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { configmaps } from '#api/core/v1/resources.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { eventually, Running } from '#test/e2e/harness.js';

interface OperatedCluster {
  readonly client: Client;
  /** A client config. */
  readonly config: string;
}

interface Greeting {
  readonly metadata: { readonly name: string; readonly finalizers?: readonly string[] };
  readonly status?: { readonly copies?: number; readonly by?: string; readonly observedGeneration?: number };
}

const program = fileURLToPath(new URL('./operator.js', import.meta.url));
const path = '/apis/demo.example.com/v1/namespaces/default/greetings';

/** Starts a replica, which ends with the test. */
function startOperator(t: Pick<Test, 'teardown'>, { client, config }: OperatedCluster, name: string): Running {
  const { dialect } = client;
  const groups = [dialect.groupName('apiextensions'), dialect.groupName('coordination')];
  const operator = new Running(process.execPath, [program, config, name, ...groups], {});
  t.teardown(() => operator.stop());
  return operator;
}

export async function operatorScenario(t: Test, cluster: OperatedCluster): Promise<void> {
  const { client } = cluster;
  const first = startOperator(t, cluster, 'first');
  await eventually('the first leads', async () => first.stdout.includes('running') || undefined);
  const second = startOperator(t, cluster, 'second');
  const get = async () => (await client.request('GET', `${path}/hello`)) as Greeting;
  const copies = async (count: number, by: string) =>
    eventually(`there are ${count} copies`, async () => {
      const { status } = await get();
      const { items } = await client
        .resource(configmaps)
        .list({ namespace: 'default', labelSelector: 'greeting=hello' });
      return status?.copies === count && status.by === by && items.length === count && items;
    });
  const scale = (count: number) =>
    client.request(
      'PATCH',
      `${path}/hello`,
      { spec: { copies: count } },
      { contentType: 'application/merge-patch+json' },
    );
  await client.request('POST', path, {
    apiVersion: 'demo.example.com/v1',
    kind: 'Greeting',
    metadata: { name: 'hello', namespace: 'default' },
    spec: { text: 'good morning', copies: 2 },
  });
  const greetingMaps = await copies(2, 'first');
  t.match(greetingMaps[0]?.metadata.ownerReferences, [{ kind: 'Greeting', name: 'hello', controller: true }]);
  t.same((await get()).metadata.finalizers, ['demo.example.com/farewell']);
  await scale(3);
  const three = await copies(3, 'first');
  await client.resource(configmaps).delete('hello-1', { namespace: 'default' });
  await eventually('a copy is made again', async () => {
    const again = await client.resource(configmaps).get('hello-1', { namespace: 'default' });
    return again.metadata.uid !== three.find(({ metadata }) => metadata.name === 'hello-1')?.metadata.uid;
  });
  t.notMatch(second.stdout, /leading/, 'one leads');
  await first.stop();
  await scale(1);
  await copies(1, 'second');
  await client.request('DELETE', `${path}/hello`);
  await eventually('it has gone', async () => get().then(() => undefined, isNotFound));
  const farewell = await client.resource(configmaps).get('farewell-hello', { namespace: 'default' });
  t.same(farewell.data, { by: 'second' });
  await eventually('so have its copies', async () =>
    client
      .resource(configmaps)
      .get('hello-0', { namespace: 'default' })
      .then(() => undefined, isNotFound),
  );
}
