/** Pods of every kind for the in-memory chaos; annotations control the simulated containers. */

import type { Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import { testPod } from '#nodeagent/testing/agent-fixture.js';

export type Random = () => number;

export const finalizer = 'chaos.test/hold';

const prefix = 'sim.orch.io/';
const image = 'docker.io/test/app:1.0';

interface Kind {
  readonly spec: Partial<PodSpec>;
  /** Annotation names without their prefix. */
  readonly does?: Readonly<Record<string, string>>;
}

const container = (name: string) => ({ name, image: `${image}-${name}` });
const volume = { name: 'data', emptyDir: {} };
const init = { ...container('init'), command: ['sleep', '1'] };

const kinds: readonly Kind[] = [
  { spec: { restartPolicy: 'Always' } },
  { spec: { restartPolicy: 'Never' } },
  { spec: { restartPolicy: 'Always', containers: [container('one'), container('two')] } },
  { spec: { restartPolicy: 'Never' }, does: { 'exit-after': '20s' } },
  { spec: { restartPolicy: 'Never' }, does: { 'exit-after': '3s', 'exit-code': '3' } },
  { spec: { restartPolicy: 'OnFailure' }, does: { 'exit-after': '5s', 'exit-code': '4' } },
  { spec: { restartPolicy: 'OnFailure' }, does: { 'exit-after': '9s' } },
  { spec: { restartPolicy: 'Always' }, does: { 'exit-after': '2s', 'exit-code': '5' } },
  {
    spec: { restartPolicy: 'Never', containers: [container('short'), container('long')] },
    does: { 'exit-after.short': '4s', 'exit-code.short': '6' },
  },
  { spec: { restartPolicy: 'Always', initContainers: [init], volumes: [volume] } },
  { spec: { restartPolicy: 'Never', initContainers: [init] }, does: { 'exit-after.main': '10s' } },
  {
    spec: { restartPolicy: 'OnFailure', initContainers: [init] },
    does: { 'exit-after.init': '1s', 'exit-code.init': '7' },
  },
  { spec: { restartPolicy: 'Always' }, does: { 'stop-latency': 'never' } },
  { spec: { restartPolicy: 'Always' }, does: { 'stop-latency': '3s' } },
  { spec: { restartPolicy: 'Never' }, does: { 'sandbox-latency': '5s', 'exit-after': '5s' } },
  { spec: { restartPolicy: 'Never' }, does: { 'start-latency': '4s', 'exit-after': '30s' } },
  { spec: { restartPolicy: 'Always' }, does: { 'pull-latency': '6s' } },
  { spec: { restartPolicy: 'Never' }, does: { 'start-failure': 'no such program' } },
  { spec: { restartPolicy: 'Always' }, does: { 'create-failure': 'no room' } },
  { spec: { restartPolicy: 'Always', activeDeadlineSeconds: 40 } },
  { spec: { restartPolicy: 'Always', hostNetwork: true } },
];

/** Builds a pod of a random kind, some with a finalizer. */
export function randomPod(random: Random, name: string): Draft<Pod> {
  const { spec, does = {} } = kinds[Math.floor(random() * kinds.length)] as Kind;
  const annotations = Object.fromEntries(Object.entries(does).map(([key, value]) => [`${prefix}${key}`, value]));
  const pod = copyJson(testPod(name, { terminationGracePeriodSeconds: Math.ceil(random() * 8), ...spec }, annotations));
  if (random() < 0.2) pod.metadata.finalizers = [finalizer];
  return pod;
}
