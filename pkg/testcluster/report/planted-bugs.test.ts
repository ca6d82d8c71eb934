import t, { type Test } from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import type { Deployment } from '#api/apps/v1/types.gen.js';
import { configmaps } from '#api/core/v1/resources.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Category } from '#testcluster/report/analyze.js';
import { OperatorWorld, type Scene } from '#testcluster/testing/operator-world.js';
import { finalizer, RightOperator } from '#testcluster/testing/right-operator.js';

const world = new OperatorWorld();
t.before(() => world.start());
t.teardown(() => world.close());

const get = ({ operator, namespace }: Scene, name: string) => operator.resource(deployments).get(name, { namespace });
const repeat = async (times: number, work: (i: number) => Promise<unknown>) => {
  for (let i = 0; i < times; i++) await work(i);
};

/** Makes the operator one that watches, as controllers do; the watch ends with its client. */
async function watch({ operator, namespace }: Scene): Promise<() => void> {
  const abort = new AbortController();
  const all = operator.resource(deployments);
  const { metadata } = await all.list({ namespace, resourceVersion: '0' });
  const events = all.watch({ namespace, resourceVersion: metadata?.resourceVersion ?? '', signal: abort.signal });
  const work = (async () => {
    for await (const _ of events);
  })();
  return () => {
    abort.abort();
    void work;
  };
}

async function untilGone(scene: Scene, name: string): Promise<void> {
  while ((await exists(scene, name)) === true) await new Promise((resolve) => setImmediate(resolve));
}

async function exists({ suite, namespace }: Scene, name: string): Promise<boolean> {
  try {
    await suite.resource(deployments).get(name, { namespace });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

interface Bug {
  readonly name: string;
  readonly category: Category;
  readonly message: RegExp;
  /** The operator with the bug. */
  act(scene: Scene, object: Deployment): Promise<void>;
}

const bugs: readonly Bug[] = [
  {
    name: 'writes-status-each-time',
    category: 'hot-loops',
    message: /^10 of 11 writes changed nothing$/,
    async act(scene, { metadata }) {
      const all = scene.operator.resource(deployments);
      await repeat(11, async () => {
        const object = await get(scene, metadata.name ?? '');
        await all.updateStatus({ ...object, status: { observedGeneration: 1 } });
      });
    },
  },
  {
    name: 'hot-loop',
    category: 'hot-loops',
    message: /^changed 20 times within /,
    async act(scene, { metadata }) {
      const { namespace } = scene;
      const all = scene.operator.resource(deployments);
      await repeat(25, (i) =>
        all.patch(
          metadata.name ?? '',
          { metadata: { annotations: { seen: String(i) } } },
          { namespace, type: 'merge' },
        ),
      );
    },
  },
  {
    name: 'reads-all-the-time',
    category: 'hot-loops',
    message: /^29 of 30 reads returned the version of the read before$/,
    act: (scene, { metadata }) => repeat(30, () => get(scene, metadata.name ?? '')),
  },
  {
    name: 'polls',
    category: 'polling',
    message: /^repeated every 10/,
    act: (scene, { metadata }) =>
      repeat(12, async () => {
        await get(scene, metadata.name ?? '');
        await scene.clock.sleep(10_000);
      }),
  },
  {
    name: 'keeps-the-finalizer',
    category: 'finalizers',
    message: /^is being deleted and waits for example\.com\/cleanup$/,
    async act(scene, object) {
      const { name = '' } = object.metadata;
      const { namespace } = scene;
      const draft = copyJson(object);
      draft.metadata.finalizers = [finalizer];
      await scene.operator.resource(deployments).update(draft);
      await scene.suite.resource(deployments).delete(name, { namespace });
    },
  },
  {
    name: 'sets-no-owner',
    category: 'owners',
    message: /^created without an owner reference/,
    async act(scene, { metadata }) {
      const { namespace } = scene;
      const stop = await watch(scene);
      await scene.operator.resource(configmaps).create({ metadata: { name: metadata.name ?? '', namespace } });
      stop();
    },
  },
  {
    name: 'leaves-objects',
    category: 'leftovers',
    message: /^was created and is still there$/,
    async act(scene, { metadata }) {
      const { namespace } = scene;
      const { name = '' } = metadata;
      await scene.operator.resource(configmaps).create({ metadata: { name, namespace } });
      await scene.suite.resource(deployments).delete(name, { namespace });
      await untilGone(scene, name);
    },
  },
  {
    name: 'does-not-back-off',
    category: 'no-backoff',
    message: /^failed 8 times in a row with InternalError, without a growing pause$/,
    async act(scene, object) {
      await scene.faults([{ match: { verbs: ['update'] }, answer: 500, count: 8 }]);
      for (;;) {
        try {
          await scene.operator.resource(deployments).update(object);
          return;
        } catch {
          await scene.clock.sleep(1000);
        }
      }
    },
  },
  {
    name: 'overwrites-others',
    category: 'lost-updates',
    message: /^updated without a resource version/,
    async act(scene, object) {
      const draft = copyJson(object);
      delete draft.metadata.resourceVersion;
      await scene.operator.resource(deployments).update(draft);
    },
  },
  {
    name: 'ignores-conflicts',
    category: 'conflicts',
    message: /^the last write failed with a conflict and was not tried again$/,
    async act(scene, object) {
      await scene.faults([{ match: { verbs: ['update'] }, answer: 409, count: 1 }]);
      await scene.operator
        .resource(deployments)
        .update(object)
        .catch(() => undefined);
    },
  },
  {
    name: 'gives-up',
    category: 'unretried',
    message: /^the last write failed with Timeout and was not tried again$/,
    async act(scene, { metadata }) {
      const { namespace } = scene;
      await scene.faults([{ match: { verbs: ['create'], resources: ['configmaps'] }, answer: 504 }]);
      await scene.operator
        .resource(configmaps)
        .create({ metadata: { name: metadata.name ?? '', namespace } })
        .catch(() => undefined);
    },
  },
  {
    name: 'watches-from-the-past',
    category: 'watches',
    message: /^watched again from a version that was too old/,
    async act(scene) {
      const { namespace } = scene;
      await scene.faults([{ match: { verbs: ['watch'] }, watch: { expired: true }, count: 3 }]);
      const all = scene.operator.resource(deployments);
      const { metadata } = await all.list({ namespace, resourceVersion: '0' });
      const resourceVersion = metadata?.resourceVersion ?? '';
      await repeat(3, async () => {
        try {
          for await (const _ of all.watch({ namespace, resourceVersion }));
        } catch {
          // Again from the same version: that is the bug.
        }
      });
    },
  },
  {
    name: 'stops-watching',
    category: 'watches',
    message: /^the last watch was ended by the server and not opened again$/,
    async act(scene) {
      const { namespace } = scene;
      await scene.faults([{ match: { verbs: ['watch'] }, watch: { cutAfterEvents: 1 } }]);
      for await (const _ of scene.operator.resource(deployments).watch({ namespace }));
    },
  },
  {
    name: 'lists-each-time',
    category: 'full-lists',
    message: /^listed in full 5 times, with 0 watches$/,
    act: (scene) => repeat(5, () => scene.operator.resource(configmaps).list({ namespace: scene.namespace })),
  },
  {
    name: 'deletes-by-name',
    category: 'deletes',
    message: /^deleted without a precondition/,
    async act(scene, { metadata }) {
      const stop = await watch(scene);
      const { namespace } = scene;
      await scene.operator.resource(deployments).delete(metadata.name ?? '', { namespace });
      stop();
    },
  },
];

for (const { name, category, message, act } of bugs) {
  t.test(`the bug ${name} is a finding of ${category}`, async (t) => {
    const scene = await world.scene(name);
    await act(scene, await scene.create('one'));
    const { findings } = await scene.report();
    // The suite deletes the object that the operator's finalizer holds.
    const own = findings.filter((each) => each.userAgent === name || each.category === 'finalizers');
    const expected = own.filter((each) => each.category === category);
    t.match(
      expected.map((each) => each.message),
      [message],
      JSON.stringify(own),
    );
  });
}

async function rightOperator(
  t: Test,
  name: string,
  rules: readonly Readonly<Record<string, unknown>>[],
): Promise<void> {
  const scene = await world.scene(name);
  await scene.faults(rules);
  const stop = new AbortController();
  const work = new RightOperator(scene).run(stop.signal);
  for (const object of ['one', 'two', 'three']) await scene.create(object);
  const { suite, namespace } = scene;
  const statuses = async () => (await suite.resource(deployments).list({ namespace })).items;
  while (!(await statuses()).every(({ status }) => status?.observedGeneration === 1))
    await new Promise((resolve) => setImmediate(resolve));
  for (const object of ['one', 'two', 'three']) {
    const { metadata } = await suite.resource(deployments).get(object, { namespace });
    await suite.resource(deployments).delete(object, { namespace, preconditions: { uid: metadata.uid ?? '' } });
  }
  for (const object of ['one', 'two', 'three']) await untilGone(scene, object);
  while ((await suite.resource(configmaps).list({ namespace })).items.length > 0)
    await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  await work;
  const { findings, faults } = await scene.report();
  t.same(
    findings.filter((each) => each.userAgent === name),
    [],
    'nothing is found',
  );
  for (const rule of faults) t.ok(rule.injected > 0, `${rule.name} acted`);
}

t.test('nothing is found in an operator without bugs', (t) => rightOperator(t, 'right', []));

t.test('nothing is found in an operator without bugs, whatever faults it meets', (t) =>
  rightOperator(t, 'right-under-faults', [
    { name: 'conflicts', match: { verbs: ['update'] }, share: 0.3, count: 4, answer: 409 },
    { name: 'errors', match: { verbs: ['create', 'update', 'get'] }, share: 0.2, count: 4, answer: 500 },
    { name: 'lost', match: { verbs: ['create'] }, count: 1, answer: { code: 504, applied: true } },
    { name: 'busy', match: { verbs: ['update'] }, count: 1, answer: { code: 429, retryAfter: '2s' } },
    { name: 'cuts', match: { verbs: ['watch'] }, count: 1, watch: { cutAfterEvents: 2 } },
    { name: 'expiry', match: { verbs: ['watch'] }, count: 1, watch: { cutAfterEvents: 1, expired: true } },
  ]),
);
