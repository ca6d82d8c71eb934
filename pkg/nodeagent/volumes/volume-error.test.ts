import t from 'tap';
import { volumeEvents } from '#nodeagent/volumes/volume-error.js';

const wrong = {
  volume: 'b',
  specName: 'pv-b',
  stage: 'MountVolume.SetUp failed',
  message: 'no such file',
} as const;
const lost = { volume: 'a', specName: 'a', stage: 'unknown', message: 'PVC is not bound' } as const;
const again = { ...lost, volume: 'c' } as const;
const device = { ...wrong, stage: 'MapVolume.SetUpDevice failed' } as const;

t.test('volume errors have the messages of 1.24', async (t) => {
  const messages = (...args: Parameters<typeof volumeEvents>) =>
    volumeEvents(...args).map(({ reason, message }) => `${reason}: ${message}`);
  const all = { expected: ['a', 'b', 'c'], isLate: false };
  const own = 'FailedMount: MountVolume.SetUp failed for volume "pv-b" : no such file';
  const lists = (unmounted: string) =>
    `FailedMount: Unable to attach or mount volumes: unmounted volumes=[${unmounted}], unattached volumes=[a b c]`;
  t.same(messages([], all), []);
  t.same(messages([wrong], all), [own]);
  t.same(messages([wrong, lost], all), [own, `${lists('a b')}: PVC is not bound`]);
  t.same(messages([again, lost], all), [`${lists('a c')}: PVC is not bound`], 'each reason once');
  t.same(messages([wrong], { ...all, isLate: true }), [own, `${lists('b')}: timed out waiting for the condition`]);
  t.same(messages([device], all), ['FailedMapVolume: MapVolume.SetUpDevice failed for volume "pv-b" : no such file']);
});
