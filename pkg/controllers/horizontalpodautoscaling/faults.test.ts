/**
 * Random loads under random faults (rejected and lost requests, lagging caches, restarts): the size stays within its
 * bounds, changes no faster than one controller's policies allow, and finally matches the load.
 */
import t from 'tap';
import { horizontalpodautoscalers } from '#api/autoscaling/v2/resources.gen.js';
import type { HPAScalingPolicy, HPAScalingRules } from '#api/autoscaling/v2/types.gen.js';
import { conflict, internalError, serverTimeout } from '#apimachinery/errors/status.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import type { Client } from '#client/client.js';
import { Chaos } from '#controllers/framework/testing/chaos.js';
import { losingResponses } from '#controllers/framework/testing/lost-responses.js';
import { FakeServers } from '#controllers/horizontalpodautoscaling/testing/fake-servers.js';

const seeds = Array.from({ length: 12 }, (_, i) => 9000 + i);
const bounds = { minReplicas: 2, maxReplicas: 40 };
const syncPeriodMs = 15_000;
const q = { group: 'apps', resource: 'deployments' };

for (const seed of seeds) {
  t.test(`seed ${seed}`, async (t) => {
    const random = seededRandom(seed);
    const int = (below: number) => Math.floor(random() * below);
    const servers = new FakeServers(t);
    const { harness, scale } = servers;
    const policy = (): HPAScalingPolicy => ({ type: 'Pods', value: 1 + int(6), periodSeconds: 30 + int(120) });
    const rules = (): HPAScalingRules => ({
      stabilizationWindowSeconds: int(3) * 30,
      selectPolicy: 'Min',
      policies: [policy(), policy()],
    });
    const behavior = { scaleUp: rules(), scaleDown: rules() };
    servers.addScaler({ ...bounds, behavior });
    /** The total usage of the pods, in thousandths; the target is 500 per pod. */
    let load = 1500;
    const follow = () => {
      // Pods follow the size immediately.
      scale.status.replicas = scale.replicas;
      servers.setPods(Array.from({ length: scale.replicas }, () => Math.round(load / scale.replicas)));
    };
    follow();
    let faulty = true;
    const changes: { atMs: number; change: number }[] = [];
    const problems: string[] = [];
    const { client } = servers.context;
    const request: Client['request'] = async (method, path, body, options) => {
      if (faulty && random() < 0.08) throw internalError(new Error('fault'));
      if (faulty && method === 'PUT' && random() < 0.1) throw conflict(q, 'web', 'fault');
      const before = scale.replicas;
      const answer = await client.request<never>(method, path, body, options);
      if (method === 'PUT') {
        const change = { atMs: harness.clock.monotonic(), change: scale.replicas - before };
        changes.push(change);
        check(change);
        if (faulty && random() < 0.3) throw serverTimeout(q, 'update', 0);
      }
      return answer;
    };
    const check = ({ atMs, change }: { atMs: number; change: number }) => {
      const { minReplicas: min, maxReplicas: max } = bounds;
      if (scale.replicas < min || scale.replicas > max) problems.push(`size ${scale.replicas}`);
      const { policies = [] } = change > 0 ? behavior.scaleUp : behavior.scaleDown;
      for (const { value, periodSeconds } of policies) {
        const sum = changes
          .filter((each) => each.atMs > atMs - periodSeconds * 1000 && Math.sign(each.change) === Math.sign(change))
          .reduce((all, each) => all + Math.abs(each.change), 0);
        if (sum > value) problems.push(`${sum} of ${value} pods in ${periodSeconds} s`);
      }
    };
    const losing = losingResponses({ ...client, request }, () => faulty && random() < 0.04);
    const chaos = new Chaos({
      harness,
      random,
      caches: ['pods', 'horizontalpodautoscalers'],
      makeController: () => {
        // A new controller has no history, as in 1.24.
        changes.length = 0;
        return servers.controller(
          { syncPeriodMs, downscaleStabilizationMs: 60_000 },
          { ...servers.context, client: losing },
        );
      },
    });
    await chaos.start();
    for (let i = 0; i < 60; i += 1) {
      await chaos.act();
      if (random() < 0.2) load = int(25_000);
      await harness.advance(int(20_000));
      follow();
    }
    chaos.heal();
    faulty = false;
    load = 500 * 17;
    follow();
    const arrived = () => scale.replicas >= 16 && scale.replicas <= 19;
    for (let i = 0; i < 400 && !arrived(); i += 1) {
      await harness.advance(syncPeriodMs);
      follow();
    }
    // The size stays.
    for (let i = 0; i < 20; i += 1) {
      await harness.advance(syncPeriodMs);
      follow();
    }
    t.same(problems, []);
    t.ok(arrived(), `${scale.replicas} replicas`);
    const status = harness.api.get(horizontalpodautoscalers, 'default/web')?.status;
    t.match(status, { currentReplicas: scale.replicas, desiredReplicas: scale.replicas });
    await chaos.stop();
  });
}
