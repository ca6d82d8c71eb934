/**
 * Rollouts under random faults: no set ever has more pods than its largest size (a lagging cache causes no second pod), and
 * the final state is as specified.
 */

import t from 'tap';
import { deployments, replicasets } from '#api/apps/v1/resources.gen.js';
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { conflict, internalError, type StatusError, tooManyRequests } from '#apimachinery/errors/status.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { DeploymentController } from '#controllers/deployment/controller.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { ReplicaSetController } from '#controllers/replicaset/controller.js';
import { replicaSetKind } from '#controllers/replicaset/replicated-kinds.js';

const seeds = Array.from({ length: 40 }, (_, i) => 1000 + i);
const labels = { app: 'web' };

const template = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: 'c', image }] } });
const imageOf = (pod: Pod) => pod.spec.containers[0]?.image ?? '';
const isReady = (pod: Pod) => pod.status?.conditions?.[0]?.status === 'True';

for (const seed of seeds) {
  t.test(`seed ${seed}`, async (t) => {
    const random = seededRandom(seed);
    const harness = new Harness(t, [deployments, replicasets, pods]);
    const { api, clock, context } = harness;
    /** The largest size of each set, by name. */
    const sizes = new Map<string, number>();
    const excess: string[] = [];
    api.seed<Deployment>(deployments, {
      metadata: { name: 'web', namespace: 'default' },
      spec: {
        replicas: 5,
        selector: { matchLabels: labels },
        template: template('v0'),
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 1 } },
      },
    });
    const setImage = (image: string) =>
      api.change<Deployment>(deployments, 'default/web', (object) => {
        object.spec.template = template(image);
      });
    await harness.start(
      new DeploymentController(context, { concurrency: 2 }),
      new ReplicaSetController(context, replicaSetKind, { concurrency: 2 }),
    );
    const fault = (name: string): StatusError | undefined => {
      const q = { group: '', resource: name };
      const dice = random();
      if (dice < 0.05) return internalError(new Error('fault'));
      if (dice < 0.1) return conflict(q, name, 'fault');
      return dice < 0.12 ? tooManyRequests('fault', 1) : undefined;
    };
    api.intercept((call) => {
      if (call.resource !== 'replicasets' || (call.verb !== 'create' && call.verb !== 'update')) return undefined;
      const { metadata, spec } = call.body as ReplicaSet;
      const name = metadata.name ?? '';
      sizes.set(name, Math.max(sizes.get(name) ?? 0, spec.replicas ?? 1));
      return undefined;
    });
    const heal = api.intercept((call) => fault(call.resource));
    const live = () => api.list(pods).filter((pod) => pod.metadata.deletionTimestamp === undefined);
    const turn = async () => {
      await harness.advance(Math.floor(random() * 2000));
      for (const [name, size] of sizes) {
        const count = live().filter((pod) => pod.metadata.ownerReferences?.[0]?.name === name).length;
        if (count > size) excess.push(`${name} has ${count} pods of ${size}`);
      }
      for (const pod of live().filter((each) => !isReady(each))) {
        if (random() < 0.5) continue;
        api.change<Pod>(pods, `default/${pod.metadata.name}`, (each) => {
          const lastTransitionTime = formatTime(clock.now());
          each.status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] };
        });
      }
    };
    const thaw: (() => void)[] = [];
    const act = () => {
      const dice = random();
      if (dice < 0.1) api.dropWatches();
      else if (dice < 0.15) thaw.push(harness.freeze(random() < 0.5 ? 'pods' : 'replicasets'));
      else if (dice < 0.35) thaw.pop()?.();
      else if (dice < 0.4) api.compact();
      else if (dice < 0.5) setImage(`v${Math.floor(random() * 4)}`);
      else if (dice < 0.55) {
        const [victim] = live();
        if (victim !== undefined) api.remove(pods, `default/${victim.metadata.name}`);
      }
    };
    for (let i = 0; i < 40; i += 1) {
      act();
      await turn();
    }
    for (const undo of thaw) undo();
    heal();
    setImage('final');
    const arrived = () => live().length === 5 && live().every((pod) => imageOf(pod) === 'final' && isReady(pod));
    for (let i = 0; i < 400 && !arrived(); i += 1) await turn();
    t.same(live().map(imageOf), Array(5).fill('final'));
    t.same(excess, []);
    const images = api.list(replicasets).map((set) => set.spec.template?.spec?.containers[0]?.image);
    t.equal(new Set(images).size, images.length, 'one set per template');
    await harness.advance(30_000);
    t.equal(api.get(deployments, 'default/web')?.status?.availableReplicas, 5);
  });
}
