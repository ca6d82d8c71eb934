/** Pods that do not restart, under agents that end at any moment: a reported termination is final. */
import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { PodStatus } from '#api/core/v1/types.gen.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { startAgent, testPod } from '#nodeagent/testing/agent-fixture.js';
import { virtualAgent } from '#nodeagent/testing/virtual-agent.js';

const rounds = 12;
const podsPerRound = 4;
const image = 'docker.io/test/app:1.0';

t.test('terminations are final, and every deleted pod disappears', async (t) => {
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  t.comment(`SEED=${seed}`);
  const random = seededRandom(seed);
  const { api, clock, runtime, fixture, until } = await virtualAgent(t);
  const ended = new Set<string>();
  const takenBack: string[] = [];
  api.intercept(({ verb, resource, name = '', body }) => {
    if (verb !== 'patch' || resource !== 'pods') return undefined;
    const { containerStatuses = [], initContainerStatuses = [] } = (body as { status: PodStatus }).status;
    for (const status of [...initContainerStatuses, ...containerStatuses]) {
      const key = `${name} ${status.name}`;
      const end = status.state?.terminated;
      if (end === undefined && ended.has(key)) takenBack.push(key);
      if (end !== undefined && (name.startsWith('never') || end.exitCode === 0)) ended.add(key);
    }
    return undefined;
  });
  let agent = fixture;
  t.teardown(() => agent.stop());
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < podsPerRound; i++) {
      const restartPolicy = random() < 0.5 ? 'Never' : 'OnFailure';
      const command = ['sh', '-c', `exit ${random() < 0.6 ? 0 : 3}`];
      const containers = [
        { name: 'a', image, command },
        { name: 'b', image, command: ['sleep', '1000'] },
      ];
      const initContainers = random() < 0.5 ? [{ name: 'i', image, command: ['true'] }] : [];
      const spec = { restartPolicy, containers, initContainers, terminationGracePeriodSeconds: 1 };
      api.seed(pods, testPod(`${restartPolicy.toLowerCase()}-${round}-${i}`, spec));
    }
    await clock.advance(random() * 3000);
    for (const { metadata } of api.list(pods)) {
      if (metadata.deletionTimestamp !== undefined || random() < 0.5) continue;
      const gracePeriodSeconds = random() < 0.3 ? 0 : 1;
      await api.client.resource(pods).delete(metadata.name ?? '', { namespace: 'default', gracePeriodSeconds });
    }
    await clock.advance(random() * 1500);
    await agent.stop();
    // Some containers are lost together with the agent.
    for (const container of await runtime.listContainers()) {
      if (container.state === 'CONTAINER_EXITED' && random() < 0.3) await runtime.removeContainer(container.id);
    }
    agent = startAgent({ clock, api, runtime });
  }
  for (const { metadata } of api.list(pods)) {
    await api.client
      .resource(pods)
      .delete(metadata.name ?? '', { namespace: 'default', gracePeriodSeconds: 1 })
      .catch((error: unknown) => t.equal(api.get(pods, `default/${metadata.name}`), undefined, String(error)));
  }
  await until(() => api.list(pods).length === 0);
  t.ok(ended.size > 0);
  t.same(takenBack, []);
  // Containers of force-deleted pods may end after their objects.
  const leftovers = async () => [...(await runtime.listContainers()), ...(await runtime.listPodSandbox())];
  for (let i = 0; i < 100 && (await leftovers()).length > 0; i++) await clock.advance(1000);
  t.same(await leftovers(), []);
});
