/**
 * Random pods, faults of the driver, restarts of the driver and crashes of the agent, against a model that only knows
 * which pods live. `SEED=n` repeats a round.
 */
import { existsSync } from 'node:fs';
import t from 'tap';
import type { Pod, Volume } from '#api/core/v1/types.gen.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { eventually } from '#nodeagent/testing/agent-fixture.js';
import type { Fault } from '#nodeagent/testing/csi-driver.js';
import { type CSIAgent, CSITestNode, driverName, podWith, setUp } from '#nodeagent/testing/csi-node.js';

const skip = process.getuid?.() === 0 && existsSync('/dev/loop-control') ? false : 'needs root and loop devices';
const seeds = process.env['SEED'] === undefined ? [1, 2] : [Number(process.env['SEED'])];
const steps = 25;

t.setTimeout(120_000);
const codes = ['INTERNAL', 'ABORTED', 'UNAVAILABLE', 'DEADLINE_EXCEEDED', 'INVALID_ARGUMENT'] as const;
const changing = /^Node(Stage|Unstage|Publish|Unpublish)Volume$/;

/** Where the volumes of the live pods must be mounted. */
function expectedMounts(pods: Iterable<Pod>): string[] {
  const mounts = new Set<string>();
  for (const { metadata, spec } of pods) {
    for (const { name } of spec.volumes ?? []) {
      if (name.startsWith('block')) {
        mounts.add(`plugins/orch.io/csi/volumeDevices/pv-${name}/dev/${metadata.uid}`);
        mounts.add(`plugins/orch.io/csi/volumeDevices/publish/pv-${name}/${metadata.uid}`);
      } else {
        const dir = name.startsWith('inline') ? name : `pv-${name}`;
        mounts.add(`pods/${metadata.uid}/volumes/orch.io~csi/${dir}/mount`);
      }
    }
  }
  return [...mounts].sort();
}

/** Volumes that must be staged. */
function expectedStaged(pods: Iterable<Pod>): string[] {
  const names = [...pods].flatMap(({ spec }) => (spec.volumes ?? []).map(({ name }) => name));
  return [...new Set(names.filter((name) => !name.startsWith('inline')))].sort();
}

async function round(
  node: CSITestNode,
  seed: number,
  check: (what: string, actual: unknown, expected: unknown) => void,
) {
  const random = seededRandom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const shared = ['a', 'b', 'block-c'].map((name) =>
    node.persist(name, name.startsWith('block') ? { volumeMode: 'Block' } : {}),
  );
  const volumes: Volume[] = [...shared, { name: 'inline', csi: { driver: driverName } }];
  let agent: CSIAgent = await node.agent();
  const live = new Map<string, Pod>();
  const ending = new Set<string>();
  let pods = 0;
  let rate = 0;
  node.driver.fault = (method): Fault => {
    if (!changing.test(method) || random() >= rate) return undefined;
    return { code: pick(codes), after: random() < 0.5 };
  };
  const mount = async (pod: Pod) => (await setUp(agent, pod)) === undefined;
  const end = async (uid: string) => {
    try {
      await agent.volumes.tearDown(uid);
      ending.delete(uid);
    } catch {
      ending.add(uid);
    }
  };
  const settle = async (step: string) => {
    rate = 0;
    for (const uid of [...ending]) await end(uid);
    for (const pod of live.values()) check(`${step}: the pod has its volumes`, await mount(pod), true);
    agent.csi.volumes.unstageUnused();
    const staged = expectedStaged(live.values());
    await eventually(() => node.driver.staged.size <= staged.length, `${step}: unused volumes are unstaged`);
    check(`${step}: staged volumes`, [...node.driver.staged.keys()].sort(), staged);
    const mounts = (await node.mounts()).filter((path) => !path.endsWith('globalmount'));
    check(`${step}: mounts`, mounts, expectedMounts(live.values()));
  };
  for (let i = 0; i < steps; i++) {
    const step = `seed ${seed}, step ${i}`;
    rate = pick([0, 0.2, 0.6]);
    const dice = random();
    if (dice < 0.45 || live.size === 0) {
      const uid = `u${pods++}`;
      const used = volumes.filter(() => random() < 0.5);
      const devices = used.map(({ name }) => name).filter((name) => name.startsWith('block'));
      const pod = podWith(uid, used, { devices });
      live.set(uid, pod);
      await mount(pod);
    } else if (dice < 0.75) {
      const uid = pick([...live.keys()]);
      live.delete(uid);
      await end(uid);
    } else if (dice < 0.85) {
      await node.driver.stop();
      await node.driver.start();
    } else if (dice < 0.95) {
      await agent.stop();
      agent = await node.agent();
    } else await Promise.all([...live.values()].map((pod) => mount(pod)));
    if (random() < 0.2) await settle(step);
  }
  for (const uid of live.keys()) ending.add(uid);
  live.clear();
  await settle(`seed ${seed}, end`);
  await eventually(async () => (await node.files()).length === 0, `seed ${seed}: no directory is left`);
}

for (const seed of seeds) {
  t.test(`pods have their volumes, and nothing else is mounted (seed ${seed})`, { skip }, async (t) => {
    const node = await CSITestNode.start({ object: { volumeLifecycleModes: ['Persistent', 'Ephemeral'] } });
    t.teardown(() => node.clean());
    await round(node, seed, (what, actual, expected) => t.same(actual, expected, what));
  });
}
