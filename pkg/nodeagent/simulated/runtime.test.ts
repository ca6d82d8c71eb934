import { randomBytes } from 'node:crypto';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { SimulatedRuntime } from '#nodeagent/simulated/runtime.js';
import { criContract } from '#nodeagent/testing/cri-contract.js';

const image = 'docker.io/test/busybox:1.0';

criContract(t, async () => {
  const cri = new SimulatedRuntime({
    clock: realClock,
    annotationPrefix: 'sim.orch.io/',
    newID: () => randomBytes(32).toString('hex'),
    images: [image],
    podCIDR: '10.244.0.0/24',
  });
  return { cri, image, logFiles: cri.logFiles, logDirectory: '/logs' };
});
