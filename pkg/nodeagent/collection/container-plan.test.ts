import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { containersToRemove, sandboxesToRemove } from '#nodeagent/collection/container-plan.js';
import type { ContainerState, PodSandboxStatus } from '#nodeagent/cri/cri.js';
import type { PodRuntime, RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';

interface Run {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly state?: ContainerState;
}

function podOf(uid: string, runs: readonly Run[], isLive = true) {
  const containers = runs.map(({ id, name, createdAt, state = 'CONTAINER_EXITED' }) => ({
    ...{ id, createdAt, state, metadata: { name, attempt: createdAt }, podSandboxId: 's0' },
  })) as unknown as RuntimeContainer[];
  containers.sort((a, b) => b.createdAt - a.createdAt);
  return { runtime: { uid, name: uid, namespace: 'n', sandboxes: [], containers } satisfies PodRuntime, isLive };
}

const runs = (prefix: string, name: string, times: number[]): Run[] =>
  times.map((createdAt) => ({ id: `${prefix}${createdAt}`, name, createdAt }));

interface Options {
  minAgeMs?: number;
  perContainer?: number;
  total?: number;
  removesEnded?: boolean;
}

function removed(
  pods: ReturnType<typeof podOf>[],
  { minAgeMs = 0, perContainer = -1, total = -1, removesEnded = false }: Options,
): string {
  const input = { pods, policy: { minAgeMs, perContainer, total }, nowMs: 100, removesEnded };
  return containersToRemove(input)
    .map(({ id }) => id)
    .join(' ');
}

t.test('dead containers are removed as 1.24 explains it', async (t) => {
  const a = podOf('a', [...runs('a', 'main', [40, 30, 20, 10]), ...runs('side', 'side', [35, 15])]);
  t.equal(removed([a], {}), '', 'without limits');
  t.equal(removed([a], { perContainer: 1 }), 'a10 a20 a30 side15', 'one of each is kept, oldest first');
  t.equal(removed([a], { perContainer: 2 }), 'a10 a20');
  t.equal(removed([a], { perContainer: 0 }), 'a10 a20 a30 a40 side15 side35');
  t.equal(removed([a], { perContainer: 0, minAgeMs: 75 }), 'a10 a20 side15', 'only those of the minimum age');
  t.equal(removed([a], { total: 4 }), 'a10 a20', 'an equal number of each');
  t.equal(removed([a], { total: 1 }), 'a10 a20 a30 side15 side35', 'then the oldest');
  t.equal(removed([a], { total: 0 }), 'a10 a20 a30 side15 side35 a40');
  t.equal(removed([a], { total: 6 }), '');
  const states = podOf('b', [
    { id: 'running', name: 'x', createdAt: 1, state: 'CONTAINER_RUNNING' },
    { id: 'created', name: 'y', createdAt: 1, state: 'CONTAINER_CREATED' },
    { id: 'unknown', name: 'z', createdAt: 1, state: 'CONTAINER_UNKNOWN' },
  ]);
  t.equal(removed([states], { perContainer: 0 }), 'unknown', 'what runs, or may start, is kept');
  t.equal(removed([{ ...states, isLive: false }], { perContainer: 0 }), 'created unknown');
  const ended = podOf('c', runs('c', 'main', [9, 8]), false);
  t.equal(removed([a, ended], { perContainer: 1 }), 'a10 a20 a30 side15 c8', 'pods that have ended keep theirs');
  t.equal(
    removed([a, ended], { perContainer: 1, removesEnded: true }),
    'c8 c9 a10 a20 a30 side15',
    'unless disk is short',
  );
  t.equal(removed([ended], { removesEnded: true, minAgeMs: 92 }), 'c8', 'if they are old enough');
});

/** Removes one container after the other until the rules are met; slow. */
function reference(pods: ReturnType<typeof podOf>[], { perContainer = -1, total = -1, removesEnded = false }: Options) {
  let left = pods.flatMap(({ runtime, isLive }) =>
    runtime.containers
      .filter(({ state }) => state === 'CONTAINER_EXITED')
      .map(({ id, metadata, createdAt }) => ({ id, unit: `${runtime.uid} ${metadata.name}`, createdAt, isLive })),
  );
  const gone = new Set<string>();
  const remove = (id: string) => {
    gone.add(id);
    left = left.filter((each) => each.id !== id);
  };
  if (removesEnded) for (const each of left) if (!each.isLive) remove(each.id);
  const units = [...new Set(left.map(({ unit }) => unit))];
  const shrink = (limit: number) => {
    for (const unit of units) {
      for (;;) {
        const members = left.filter((each) => each.unit === unit).sort((a, b) => a.createdAt - b.createdAt);
        if (members.length <= limit || members[0] === undefined) break;
        remove(members[0].id);
      }
    }
  };
  if (perContainer >= 0) shrink(perContainer);
  if (total >= 0 && left.length > total) {
    shrink(Math.max(1, Math.floor(total / units.length)));
    while (left.length > total) remove(left.reduce((a, b) => (b.createdAt < a.createdAt ? b : a)).id);
  }
  return [...gone].sort();
}

t.test('random nodes are cleaned as by the slow rules', async (t) => {
  const random = seededRandom(3);
  const int = (max: number) => Math.floor(random() * (max + 1));
  for (let round = 0; round < 500; round++) {
    let time = 1;
    const pods = Array.from({ length: int(4) }, (_, i) => {
      const containers = Array.from({ length: int(6) }, (): Run => {
        time += 1;
        const state = int(4) === 0 ? 'CONTAINER_RUNNING' : 'CONTAINER_EXITED';
        return { id: `c${time}`, name: `n${int(2)}`, createdAt: time, state };
      });
      return podOf(`p${i}`, containers, random() < 0.5);
    });
    const options = { perContainer: int(3) - 1, total: int(8) - 1, removesEnded: random() < 0.5 };
    const actual = removed(pods, options).split(' ').filter(Boolean).sort();
    const expected = reference(pods, options);
    if (actual.join() !== expected.join())
      return void t.same(actual, expected, `round ${round}: ${JSON.stringify(options)}`);
  }
  t.pass('500 nodes');
});

t.test('sandboxes without containers are removed, except the newest of a pod', async (t) => {
  const sandbox = (id: string, state: PodSandboxStatus['state']) => ({ id, state }) as unknown as PodSandboxStatus;
  const pod = podOf('a', [{ id: 'c', name: 'x', createdAt: 1 }]);
  const sandboxes = [
    sandbox('s3', 'SANDBOX_NOTREADY'),
    sandbox('s2', 'SANDBOX_NOTREADY'),
    sandbox('ready', 'SANDBOX_READY'),
    sandbox('s1', 'SANDBOX_NOTREADY'),
    sandbox('s0', 'SANDBOX_NOTREADY'),
  ];
  const of = (isLive: boolean, removesEnded: boolean) =>
    sandboxesToRemove({ runtime: { ...pod.runtime, sandboxes }, isLive }, removesEnded).map(({ id }) => id);
  t.same(of(true, true), ['s1', 's2'], 'live; s0 has a container');
  t.same(of(false, false), ['s1', 's2'], 'ended');
  t.same(of(false, true), ['s1', 's2', 's3'], 'ended, and disk is short');
});
