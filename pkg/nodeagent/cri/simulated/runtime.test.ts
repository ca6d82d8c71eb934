import { randomBytes } from 'node:crypto';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { criContract } from '#nodeagent/cri/contract.js';
import { SimulatedRuntime } from '#nodeagent/cri/simulated/runtime.js';

const image = 'docker.io/test/busybox:1.0';

criContract(t, async () => {
  const cri = new SimulatedRuntime({
    clock: realClock,
    labelDomain: 'orch.io',
    newID: () => randomBytes(32).toString('hex'),
    images: [image],
  });
  return { cri, image, logFiles: cri.logFiles, logDirectory: '/logs' };
});
