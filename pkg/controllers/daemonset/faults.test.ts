/**
 * Daemon sets under random faults: an update never exceeds maxUnavailable or maxSurge, no node gets a second pod otherwise,
 * and the final state is as specified.
 */
import t from 'tap';
import { controllerrevisions, daemonsets } from '#api/apps/v1/resources.gen.js';
import type { DaemonSet } from '#api/apps/v1/types.gen.js';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { DaemonSetController } from '#controllers/daemonset/controller.js';
import { targetNode } from '#controllers/daemonset/placement.js';
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

const seeds = Array.from({ length: 25 }, (_, i) => 3000 + i);
const labels = { app: 'agent' };
const size = 5;
const template = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: 'c', image }] } });
const nodeOf = (pod: Pod) => targetNode(pod) ?? '';

for (const seed of seeds) {
  const surge = seed % 2 === 0;
  const most = seed % 3 === 0 ? 2 : 1;
  t.test(`seed ${seed}, ${most} ${surge ? 'surging' : 'unavailable'}`, async (t) => {
    const random = seededRandom(seed);
    const harness = new Harness(t, [daemonsets, controllerrevisions, pods, nodes]);
    const { api } = harness;
    withGracePeriod(harness);
    for (let i = 0; i < size; i += 1) api.seed(nodes, { metadata: { name: `n${i}` }, spec: {} });
    api.seed<DaemonSet>(daemonsets, {
      metadata: { name: 'agent', namespace: 'default', uid: 'set' },
      spec: {
        selector: { matchLabels: labels },
        template: template('v0'),
        updateStrategy: {
          type: 'RollingUpdate',
          rollingUpdate: surge ? { maxUnavailable: 0, maxSurge: most } : { maxUnavailable: most, maxSurge: 0 },
        },
      },
    });
    const broken: string[] = [];
    /** Nodes whose ready pod the controller deleted, and which have had no ready pod since. */
    const drained = new Set<string>();
    const cache = harness.informers.informer(pods);
    const here = () => api.list(pods).filter((pod) => !isTerminating(pod));
    /** UIDs of pods that were ready and then disturbed by the test. */
    const disturbed = new Set<string>();
    api.intercept((call) => {
      if (call.resource !== 'pods') return undefined;
      if (call.verb === 'create') {
        const created = call.body as Pod;
        for (const pod of here().filter((each) => nodeOf(each) === nodeOf(created))) {
          if (disturbed.has(pod.metadata.uid ?? '')) continue;
          if (imageOf(pod) === imageOf(created)) broken.push(`a second ${imageOf(created)} on ${nodeOf(created)}`);
          // Pods that the cache does not show as ready may be replaced at any time.
          const cached = cache.get(`default/${pod.metadata.name}`);
          if (cached === undefined || !isReady(cached)) disturbed.add(pod.metadata.uid ?? '');
        }
      }
      if (call.verb !== 'delete') return undefined;
      const pod = api.get(pods, `default/${call.name}`);
      const uid = (call.body as { preconditions?: { uid?: string } }).preconditions?.uid;
      if (pod === undefined || pod.metadata.uid !== uid || isTerminating(pod)) return undefined;
      // Pods that the cache does not show as ready may be deleted at any time.
      const cached = cache.get(`default/${call.name}`);
      if (cached === undefined || !isReady(cached)) return undefined;
      const replaced = here().some(
        (each) => nodeOf(each) === nodeOf(pod) && isReady(each) && each.metadata.uid !== uid,
      );
      if (!replaced) drained.add(nodeOf(pod));
      const limit = surge ? 0 : most;
      if (drained.size > limit) broken.push(`${[...drained]} have lost their pods`);
      return undefined;
    });
    const chaos = new Chaos({
      harness,
      random,
      caches: ['pods', 'daemonsets', 'controllerrevisions'],
      makeController: () => new DaemonSetController(harness.context, { concurrency: 2, surgeEnabled: true }),
    });
    await chaos.start();
    const setImage = (image: string) =>
      api.change<DaemonSet>(daemonsets, 'default/agent', (set) => {
        set.spec.template = template(image);
      });
    const turn = async (lazy = 0.4) => {
      await harness.advance(Math.floor(random() * 2000));
      const perNode = new Map<string, Pod[]>();
      for (const pod of here()) perNode.set(nodeOf(pod), [...(perNode.get(nodeOf(pod)) ?? []), pod]);
      const doubled = [...perNode].filter(([, own]) => own.length > 1);
      const undisturbed = doubled.filter(([, own]) => !own.some((pod) => disturbed.has(pod.metadata.uid ?? '')));
      if (doubled.some(([, own]) => own.length > 2)) broken.push('three pods on a node');
      if (undisturbed.length > (surge ? most : 0)) broken.push(`${undisturbed.map(([name]) => name)} have two pods`);
      for (const pod of api.list(pods)) {
        if (random() < lazy) continue;
        if (isTerminating(pod)) remove(harness, pod);
        else if (!isReady(pod) && pod.status?.phase !== 'Failed') {
          makeReady(harness, pod);
          drained.delete(nodeOf(pod));
        }
      }
    };
    const disturb = () => {
      const dice = random();
      const [victim] = here();
      if (dice < 0.12) setImage(`v${Math.floor(random() * 3)}`);
      else if (dice < 0.17 && victim !== undefined) {
        disturbed.add(victim.metadata.uid ?? '');
        setStatus(harness, victim, { phase: 'Failed' });
      } else if (dice < 0.22 && victim !== undefined) remove(harness, victim);
    };
    for (let i = 0; i < 50; i += 1) {
      await chaos.act();
      disturb();
      await turn();
    }
    chaos.heal();
    setImage('final');
    const good = (pod: Pod) => imageOf(pod) === 'final' && isReady(pod) && !isTerminating(pod);
    const arrived = () => api.list(pods).length === size && api.list(pods).every(good);
    for (let i = 0; i < 600 && !arrived(); i += 1) await turn(0.2);
    t.same(
      api
        .list(pods)
        .map((pod) => `${nodeOf(pod)} ${imageOf(pod)}`)
        .sort(),
      ['n0', 'n1', 'n2', 'n3', 'n4'].map((n) => `${n} final`),
    );
    await harness.advance(120_000);
    t.same(broken, []);
    const { status } = api.get(daemonsets, 'default/agent') ?? {};
    t.match(status, { desiredNumberScheduled: size, numberAvailable: size, updatedNumberScheduled: size });
    await chaos.stop();
  });
}
