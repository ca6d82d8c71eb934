/** An agent whose runtime hangs, fails, and loses, falsifies or duplicates responses, with real containers. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Container } from '#api/core/v1/types.gen.js';
import { containerdFixture, skipWithoutContainers } from '#containerd/testing/containerd-fixture.js';
import type { Message } from '#nodeagent/grpc/channel.js';
import { eventually, testPod } from '#nodeagent/testing/agent-fixture.js';
import { type Fault, type Faults, type FaultyRuntime, startFaultyRuntime } from '#nodeagent/testing/faulty-runtime.js';

const skip = await skipWithoutContainers();
t.setTimeout(400_000);

t.test('an agent and a faulty runtime', { skip }, async (t) => {
  let proxy: FaultyRuntime | undefined;
  const fixture = await containerdFixture(t, {
    timeoutMs: 4000,
    async between({ dir, socket: target }) {
      const socket = join(dir, 'faulty.sock');
      proxy = await startFaultyRuntime(t, { target, socket });
      return socket;
    },
  });
  if (proxy === undefined) throw new Error('there is no proxy');
  const faulty = proxy;
  const { api, images, cri, dir, isReady } = fixture;
  /** Failures are retried after ten seconds, possibly more than once. */
  const until = async (what: string, condition: () => boolean | Promise<boolean>) => {
    for (let tries = 1; ; tries++) {
      try {
        return await eventually(condition, what);
      } catch (error) {
        if (tries === 6) throw error;
      }
    }
  };
  const main = (script = 'echo begun; exec sleep 1000'): Container => ({
    name: 'main',
    image: images.busybox,
    imagePullPolicy: 'Never',
    command: ['sh', '-c', script],
  });
  /** Counts the starts of each run of a pod's container, by restart count. */
  const startCounts = async (name: string) => {
    const uid = api.get(pods, `default/${name}`)?.metadata.uid ?? '';
    const logs = join(dir, 'logs', `default_${name}_${uid}`, 'main');
    const counts: Record<string, number> = {};
    for (const file of await readdir(logs).catch(() => [])) {
      counts[file] = (await readFile(join(logs, file), 'utf8'))
        .split('\n')
        .filter((line) => line.endsWith('begun')).length;
    }
    return counts;
  };
  const seeded = (name: string) =>
    api.seed(pods, testPod(name, { terminationGracePeriodSeconds: 1, containers: [main()] }));
  const isEmpty = async () => (await cri.listContainers()).length + (await cri.listPodSandbox()).length === 0;
  const failures: readonly Fault[] = [
    { type: 'lose', code: 14 },
    { type: 'refuse', code: 5 },
    { type: 'refuse', code: 13 },
    { type: 'lose' },
    { type: 'hang' },
    { type: 'answer', with: (answer) => [answer, answer] },
    { type: 'answer', with: () => [Buffer.from('\xff\xff\xff nonsense', 'latin1')] },
    { type: 'answer', with: () => [Buffer.alloc(0)] },
    { type: 'answer', with: () => [Buffer.alloc(17 << 20, 'x')] },
  ];
  const ofStatus = (change: object) => (answer: Message) => ({ ...answer, status: { ...part(answer), ...change } });
  const part = (answer: Message) => answer['status'] as Message;
  const ofList = (key: string, change: (listed: Message[]) => Message[]) => (answer: Message) => ({
    ...answer,
    [key]: change(answer[key] as Message[]),
  });
  const ofLists = (key: string) => [
    ofList(key, () => []),
    ofList(key, (listed) => [...listed, ...listed]),
    ofList(key, (listed) => listed.map((one) => ({ ...one, labels: {} }))),
    ofList(key, (listed) => listed.map((one, i) => ({ ...one, id: listed.at(i - 1)?.['id'] }))),
    ofList(key, (listed) => listed.map((one) => ({ ...one, state: 9 }))),
    ofList(key, (listed) => listed.map((one) => ({ ...one, metadata: null, createdAt: '-1' }))),
  ];
  const unknownID = 'f'.repeat(64);
  const future = '9000000000000000000';
  const lies: Readonly<Record<string, readonly ((answer: Message) => Message)[]>> = {
    PodSandboxStatus: [
      ofStatus({ id: unknownID }),
      ofStatus({ state: 9 }),
      ofStatus({ network: { ip: 'nonsense', additionalIps: [] } }),
      ofStatus({ metadata: null }),
    ],
    ContainerStatus: [
      ofStatus({ id: unknownID }),
      ofStatus({ state: 9 }),
      ofStatus({ createdAt: future, startedAt: future, finishedAt: future }),
      ofStatus({ image: null, reason: 'x'.repeat(1 << 20) }),
    ],
    ListPodSandbox: ofLists('items'),
    ListContainers: ofLists('containers'),
  };
  /** Each call of the failing methods fails in the next way until none is left; the false responses follow. */
  const faultsOf = (failing: readonly string[], lying: readonly string[] = []): Faults => {
    const liesOf = (method: string) => (lies[method] ?? []).map((change) => faulty.lie(method, change));
    const pending = new Map<string, Fault[]>([
      ...failing.map((method): [string, Fault[]] => [method, [...failures]]),
      ...lying.map((method): [string, Fault[]] => [method, liesOf(method)]),
    ]);
    return (method) => pending.get(method)?.shift();
  };

  await t.test("whatever a call's outcome, no run starts twice and all pods run", async (t) => {
    const names = Array.from({ length: failures.length }, (_, n) => `pod-${n}`);
    faulty.fail(
      faultsOf(['RunPodSandbox', 'CreateContainer', 'StartContainer', 'PodSandboxStatus', 'ContainerStatus']),
    );
    for (const name of names) seeded(name);
    await until('all pods run', () => names.every(isReady)).catch((error) => {
      throw new Error(
        names
          .filter((name) => !isReady(name))
          .map(fixture.describe)
          .join('\n'),
        { cause: error },
      );
    });
    // False responses about these pods and the next ones, for a while.
    faulty.fail(faultsOf([], ['PodSandboxStatus', 'ContainerStatus', 'ListPodSandbox', 'ListContainers']));
    const liar = ['liar-0', 'liar-1', 'liar-2'];
    for (const name of liar) seeded(name);
    await until('pods run in spite of lies', () => liar.every(isReady));
    names.push(...liar);
    for (const name of names) {
      const counts = Object.values(await startCounts(name));
      t.ok(counts.length > 0 && counts.every((count) => count <= 1), `${name} began ${counts.join()}`);
    }
    faulty.recover();
    const ready = async () => (await cri.listPodSandbox({ state: 'SANDBOX_READY' })).length;
    const running = async () => (await cri.listContainers({ state: 'CONTAINER_RUNNING' })).length;
    const isAsItShould = async () => (await ready()) === names.length && (await running()) === names.length;
    await until('all run, and nothing else', async () => names.every(isReady) && (await isAsItShould()));
    faulty.fail(faultsOf(['StopContainer', 'StopPodSandbox', 'RemoveContainer', 'RemovePodSandbox', 'ListContainers']));
    for (const name of names)
      await api.client.resource(pods).delete(name, { namespace: 'default', gracePeriodSeconds: 1 });
    await until('all pods are gone', () => api.list(pods).length === 0);
    await until('nothing is left', isEmpty);
  });
});
