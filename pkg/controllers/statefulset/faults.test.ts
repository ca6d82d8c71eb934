/**
 * Stateful sets under random faults: no ordinal ever has a second pod, no pod is deleted too early, an update never exceeds
 * maxUnavailable, an ordered set performs one step at a time, and the final state is as specified.
 */

import t from 'tap';
import { controllerrevisions, statefulsets } from '#api/apps/v1/resources.gen.js';
import type { StatefulSet } from '#api/apps/v1/types.gen.js';
import { persistentvolumeclaims, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { Chaos } from '#controllers/framework/testing/chaos.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import {
  imageOf,
  isReady,
  isTerminating,
  makeReady,
  remove,
  setStatus,
  withGracePeriod,
} from '#controllers/framework/testing/pods.js';
import { StatefulSetController } from '#controllers/statefulset/controller.js';

const seeds = Array.from({ length: 25 }, (_, i) => 2000 + i);
const labels = { app: 'web' };
const replicas = 4;
const template = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: 'c', image }] } });

for (const seed of seeds) {
  const ordered = seed % 2 === 0;
  const most = seed % 3 === 0 ? 2 : 1;
  t.test(`seed ${seed}, ${ordered ? 'ordered' : 'unordered'}, ${most} unavailable`, async (t) => {
    const random = seededRandom(seed);
    const harness = new Harness(t, [statefulsets, controllerrevisions, pods, persistentvolumeclaims]);
    const { api } = harness;
    withGracePeriod(harness);
    api.seed<StatefulSet>(statefulsets, {
      metadata: { name: 'web', namespace: 'default', uid: 'set' },
      spec: {
        replicas,
        serviceName: 'web',
        selector: { matchLabels: labels },
        template: template('v0'),
        podManagementPolicy: ordered ? 'OrderedReady' : 'Parallel',
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0, maxUnavailable: most } },
        volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: {} }],
      },
    });
    const broken: string[] = [];
    /** Pods that the controller deleted and that have not been ready since. */
    const deletedPods = new Map<string, string>();
    /** Pods that the test made fail or deleted. */
    const disturbed = new Set<string>();
    api.intercept((call) => {
      if (call.resource !== 'pods' || call.verb !== 'delete') return undefined;
      const pod = api.get(pods, `default/${call.name}`);
      const { preconditions, gracePeriodSeconds } = (call.body ?? {}) as {
        preconditions?: { uid?: string };
        gracePeriodSeconds?: number;
      };
      if (gracePeriodSeconds !== undefined) broken.push(`${call.name} is deleted with a grace period of its own`);
      if (preconditions?.uid === undefined) broken.push(`${call.name} is deleted without a UID precondition`);
      if (pod === undefined || pod.metadata.uid !== preconditions?.uid || isTerminating(pod)) return undefined;
      if (disturbed.has(pod.metadata.uid ?? '')) return undefined;
      const name = call.name ?? '';
      if (Number(name.slice(4)) < replicas) deletedPods.set(name, pod.metadata.uid ?? '');
      const limit = ordered ? Math.max(1, most) : most;
      if (deletedPods.size > limit) broken.push(`${[...deletedPods.keys()]} are deletedPods at once`);
      return undefined;
    });
    const chaos = new Chaos({
      harness,
      random,
      caches: ['pods', 'statefulsets', 'controllerrevisions'],
      makeController: () =>
        new StatefulSetController(harness.context, {
          concurrency: 2,
          features: { autoDeletePVC: false, maxUnavailable: true, minReadySeconds: true },
        }),
    });
    await chaos.start();
    const edit = (change: (set: Draft<StatefulSet>) => void) =>
      api.change<StatefulSet>(statefulsets, 'default/web', change);
    const setImage = (image: string) =>
      edit((set) => {
        set.spec.template = template(image);
      });
    const turn = async (lazy = 0.4) => {
      await harness.advance(Math.floor(random() * 2000));
      const all = api.list(pods);
      const names = new Set(all.map((pod) => pod.metadata.name));
      if (names.size !== all.length) broken.push('two pods of one name');
      if (all.some((pod) => Number(pod.metadata.name?.slice(4)) >= replicas)) broken.push('more pods than ordinals');
      for (const pod of all) {
        if (random() < lazy) continue;
        if (isTerminating(pod)) remove(harness, pod);
        else if (!isReady(pod) && pod.status?.phase !== 'Failed') {
          makeReady(harness, pod);
          deletedPods.delete(pod.metadata.name ?? '');
        }
      }
    };
    const disturb = () => {
      const dice = random();
      const [victim] = api.list(pods).filter((pod) => !isTerminating(pod));
      if (dice < 0.15) setImage(`v${Math.floor(random() * 3)}`);
      else if (dice < 0.2 && victim !== undefined) {
        disturbed.add(victim.metadata.uid ?? '');
        setStatus(harness, victim, { phase: 'Failed' });
      } else if (dice < 0.25 && victim !== undefined) remove(harness, victim);
    };
    for (let i = 0; i < 50; i += 1) {
      await chaos.act();
      disturb();
      await turn();
    }
    chaos.heal();
    setImage('final');
    const good = (pod: Pod) => imageOf(pod) === 'final' && isReady(pod) && !isTerminating(pod);
    const arrived = () => api.list(pods).length === replicas && api.list(pods).every(good);
    for (let i = 0; i < 400 && !arrived(); i += 1) await turn(0.2);
    t.same(api.list(pods).map(imageOf), Array(replicas).fill('final'));
    await harness.advance(120_000);
    t.same(broken, []);
    const { status } = api.get(statefulsets, 'default/web') ?? {};
    t.match(status, { replicas, readyReplicas: replicas, updatedReplicas: replicas, currentReplicas: replicas });
    t.equal(status?.currentRevision, status?.updateRevision);
    t.equal(api.list(persistentvolumeclaims).length, replicas);
    const images = api.list(controllerrevisions).map(({ data }) => JSON.stringify(data));
    t.equal(new Set(images).size, images.length, 'one revision per template');
    await chaos.stop();
  });
}
