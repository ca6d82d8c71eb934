import t from 'tap';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import type { Image, ImageService, PodSandboxConfig } from '#nodeagent/cri/cri.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import { ImagePuller } from '#nodeagent/images/puller.js';

const sandbox = {} as PodSandboxConfig;

function setUp(rate: { qps: number; burst: number }) {
  const clock = new VirtualClock();
  const present = new Set<string>();
  const images = {
    imageStatus: (name: string) => Promise.resolve(present.has(name) ? ({ id: name } as Image) : undefined),
    pullImage: (name: string) => {
      present.add(name);
      return Promise.resolve(name);
    },
  } as unknown as ImageService;
  const events = { container: () => undefined } as unknown as PodEvents;
  const puller = new ImagePuller({ images, clock, events, serialize: false, rate, credentials: async () => [] });
  const pull = (i: number) => {
    const container = { name: 'c', image: `docker.io/test/app:${i}` } as Container;
    return puller.ensure({ metadata: { name: `p${i}`, uid: `u${i}` } } as Pod, container, sandbox);
  };
  return { clock, pull };
}

t.test('pulls beyond the rate fail and are tried again after their back-off', async (t) => {
  const { clock, pull } = setUp({ qps: 1, burst: 2 });
  await pull(1);
  await pull(2);
  await t.rejects(pull(3), { reason: 'ErrImagePull', message: 'pull QPS exceeded' });
  await pull(1);
  await t.rejects(pull(3), { message: 'Back-off pulling image "docker.io/test/app:3"' });
  await clock.advance(11_000);
  t.match(await pull(3), { id: 'docker.io/test/app:3' });
});

t.test('zero means no limit', async () => {
  const { pull } = setUp({ qps: 0, burst: 1 });
  for (let i = 0; i < 50; i += 1) await pull(i);
});
