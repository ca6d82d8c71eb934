/** Pods of every kind for the chaos, each with its possible ends. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { type HoldingKind, holdingKinds } from '#test/e2e/chaos/holdings/kinds.js';
import { namespace, pod, shell } from '#test/e2e/pods.js';

/** Every run of a container begins with this line in its log. */
export const begun = 'begun';
export const finalizer = 'chaos.test/hold';
/** Annotation with the exit code of a container that ends by itself. */
export const exitCodeAnnotation = 'chaos.test/exit-code';

type Random = () => number;

interface Kind {
  readonly script: string;
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never';
  readonly exitCode?: number;
  readonly graceSeconds?: number;
  readonly more?: (name: string) => Partial<Pod['spec']>;
}

const kinds: readonly Kind[] = [
  { script: 'exec sleep 3600', restartPolicy: 'Always' },
  { script: 'exec sleep 3600', restartPolicy: 'Never' },
  { script: 'sleep 1', restartPolicy: 'Never', exitCode: 0 },
  { script: 'sleep 2; exit 3', restartPolicy: 'Never', exitCode: 3 },
  { script: 'sleep 1; exit 4', restartPolicy: 'OnFailure', exitCode: 4 },
  { script: 'sleep 1; exit 5', restartPolicy: 'Always', exitCode: 5 },
  // Deaf to SIGTERM.
  { script: 'trap "" TERM; while :; do sleep 1; done', restartPolicy: 'Always', graceSeconds: 3 },
  {
    script: 'test -e /data/made && exec sleep 3600',
    restartPolicy: 'Always',
    more: () => ({
      initContainers: [
        shell(`echo ${begun}; touch /data/made`, {
          name: 'init',
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        }),
      ],
      volumes: [{ name: 'data', emptyDir: {} }],
    }),
  },
];

/** The next pod: of a random kind, some with a finalizer, and some that hold what may be given only once. */
export function randomPod(random: Random, name: string): Pod {
  return random() < 0.4 ? holdingPod(random, name) : plainPod(random, name);
}

function holdingPod(random: Random, name: string): Pod {
  const { container, spec: more = {} } = holdingKinds[Math.floor(random() * holdingKinds.length)] as HoldingKind;
  const restartPolicy = random() < 0.5 ? 'Always' : 'Never';
  const { spec } = pod(name, [shell(`echo ${begun}; exec sleep 3600`, container)], { ...more, restartPolicy });
  return { metadata: { name, namespace, finalizers: random() < 0.2 ? [finalizer] : [] }, spec };
}

function plainPod(random: Random, name: string): Pod {
  const kind = kinds[Math.floor(random() * kinds.length)] as Kind;
  const more = kind.more?.(name) ?? {};
  const mounts = (more.volumes ?? []).map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` }));
  const container = shell(`echo ${begun}; ${kind.script}`, { volumeMounts: mounts });
  const { spec } = pod(name, [container], {
    ...more,
    restartPolicy: kind.restartPolicy,
    terminationGracePeriodSeconds: kind.graceSeconds ?? 2,
  });
  const annotations = kind.exitCode === undefined ? {} : { [exitCodeAnnotation]: String(kind.exitCode) };
  const finalizers = random() < 0.2 ? [finalizer] : [];
  return { metadata: { name, namespace, annotations, finalizers }, spec };
}
