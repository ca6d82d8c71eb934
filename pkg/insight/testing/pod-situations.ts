/** Pods that do not run, and why. */
import { ago, crashed, event, lease, node, pod, running, waiting } from '#insight/testing/objects.js';
import type { Situation } from '#insight/testing/situation.js';

const good = node();
const named = (app: object, more: object = {}) => pod({ app, ...more });

function pull(name: string, message: string, root: string, says: string, reason = 'ImagePullBackOff'): Situation {
  const about = named(waiting(reason, 'Back-off pulling image "shop/web:1"'));
  const failure = event(about, 'Failed', `Failed to pull image "shop/web:1": ${message}`);
  return { name, about, objects: [good], events: [failure], root, says, quotes: message };
}

const unscheduled = (message: string, more: object = {}) =>
  pod({
    node: '',
    status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }] },
    ...more,
  });

const oom = pod({
  app: crashed(137, 'OOMKilled'),
  phase: 'Running',
  container: { resources: { limits: { memory: '64Mi' } } },
});
const panics = pod({ app: crashed(2), phase: 'Running' });
const killedByProbe = pod({ app: crashed(137), phase: 'Running' });
const unready = pod({ phase: 'Running', app: { ...running, ready: false } });
const starting = pod({ phase: 'Running', app: { ...running, ready: false, started: false } });
const withConfigMap = pod({ spec: { volumes: [{ name: 'settings', configMap: { name: 'settings' } }] } });
const withSecretKey = pod({
  container: { env: [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'private' } } }] },
  app: waiting('CreateContainerConfigError', "couldn't find key private in Secret shop/keys"),
});
const withEnvironment = pod({
  container: { envFrom: [{ configMapRef: { name: 'settings' } }] },
  app: waiting('CreateContainerConfigError', 'configmap "settings" not found'),
});
const silentNode = node({ Ready: 'Unknown' });
const terminating = (parts: object = {}) =>
  pod({
    isReady: true,
    ...parts,
    metadata: { deletionTimestamp: ago(120), ...(parts as { metadata?: object }).metadata },
  });
const sandbox = pod();
const mount = pod();
const withInit = pod({ init: crashed(1) });
const unpreparable = pod({ init: waiting('ErrImagePull', 'manifest unknown') });

export const podSituations: readonly Situation[] = [
  pull('an image that does not exist', 'rpc error: docker.io/shop/web:1: not found', 'ImageMissing', 'does not exist'),
  pull(
    'an image that needs credentials',
    'pull access denied, repository may require authorization',
    'ImageForbidden',
    'refuses',
  ),
  pull(
    'a registry without a name',
    'dial tcp: lookup registry.shop: no such host',
    'RegistryUnreachable',
    'cannot be reached',
  ),
  pull(
    'an image that fails in another way',
    'failed to extract layer',
    'ImagePullFailed',
    'cannot be pulled',
    'ErrImagePull',
  ),
  {
    name: 'an image with an invalid name',
    about: named(waiting('InvalidImageName', 'Failed to apply default image tag "Shop:1"')),
    objects: [good],
    root: 'InvalidImageName',
    says: 'no valid name',
  },
  {
    name: 'an image that must be on the node',
    about: named(waiting('ErrImageNeverPull', 'Container image "shop/web:1" is not present')),
    objects: [good],
    root: 'ErrImageNeverPull',
    says: 'imagePullPolicy is Never',
  },
  {
    name: 'a container that ends with an error',
    about: panics,
    objects: [good],
    logs: { 'web-0/app': ['starting', 'panic: no database'] },
    root: 'Crashes',
    says: 'exit code 2, 5 times',
    quotes: 'panic: no database',
  },
  {
    name: 'a container beyond its memory limit',
    about: oom,
    objects: [good],
    root: 'OutOfMemory',
    says: 'limit of 64Mi',
    quotes: '64Mi',
  },
  {
    name: 'a container on a node without memory',
    about: pod({ app: crashed(137, 'OOMKilled'), phase: 'Running' }),
    objects: [good],
    root: 'OutOfMemory',
    says: 'node ran out of memory',
  },
  {
    name: 'a command that does not exist',
    about: pod({ app: crashed(127), phase: 'Running' }),
    objects: [good],
    logs: { 'web-0/app': ['sh: serve: not found'] },
    root: 'ProgramMissing',
    says: 'command that does not exist',
    quotes: 'serve: not found',
  },
  {
    name: 'a program that may not be executed',
    about: pod({ app: crashed(126), phase: 'Running' }),
    objects: [good],
    root: 'ProgramMissing',
    says: 'may not be executed',
  },
  {
    name: 'a program that the runtime does not find',
    about: named(waiting('RunContainerError', 'exec: "serve": executable file not found in $PATH')),
    objects: [good],
    root: 'ProgramMissing',
    says: 'does not have the program',
    quotes: 'not found in $PATH',
  },
  {
    name: 'a container that the runtime refuses',
    about: named(waiting('CreateContainerError', 'name is reserved')),
    objects: [good],
    root: 'ContainerDoesNotStart',
    says: 'CreateContainerError',
  },
  {
    name: 'a server that ends with success',
    about: pod({ app: crashed(0, 'Completed'), phase: 'Running' }),
    objects: [good],
    root: 'EndsAtOnce',
    says: 'should keep running',
  },
  {
    name: 'a container that was ended from outside',
    about: pod({ app: crashed(143), phase: 'Running' }),
    objects: [good],
    root: 'Killed',
    says: 'SIGTERM',
  },
  {
    name: 'a liveness probe that fails',
    about: killedByProbe,
    objects: [good],
    events: [
      event(killedByProbe, 'Killing', 'Container app failed liveness probe, will be restarted'),
      event(killedByProbe, 'Unhealthy', 'Liveness probe failed: HTTP probe failed with statuscode: 500'),
    ],
    root: 'ProbeKilled',
    says: 'liveness probe failed',
    quotes: 'statuscode: 500',
  },
  {
    name: 'an init container that fails',
    about: withInit,
    objects: [good],
    logs: { 'web-0/prepare': ['migration 7 failed'] },
    root: 'Crashes',
    says: 'Init container prepare ends with exit code 1',
    quotes: 'migration 7 failed',
  },
  {
    name: 'an image of an init container',
    about: unpreparable,
    objects: [good],
    root: 'ImageMissing',
    says: 'shop/prepare:1',
  },
  {
    name: 'a readiness probe that fails',
    about: unready,
    objects: [good],
    events: [event(unready, 'Unhealthy', 'Readiness probe failed: connection refused')],
    root: 'ProbeFails',
    says: 'readiness probe fails',
    quotes: 'connection refused',
  },
  {
    name: 'a startup probe that fails',
    about: starting,
    objects: [good],
    events: [event(starting, 'Unhealthy', 'Startup probe failed: dial tcp 10.0.0.1:80')],
    root: 'ProbeFails',
    says: 'startup probe fails',
  },
  {
    name: 'a readiness gate',
    about: pod({
      phase: 'Running',
      app: { ...running, ready: true },
      spec: { readinessGates: [{ conditionType: 'example.com/lb' }] },
    }),
    objects: [good],
    root: 'ReadinessGateClosed',
    says: 'example.com/lb is not set',
  },
  {
    name: 'a container that crashes now and then',
    about: pod({
      isReady: true,
      app: {
        ...running,
        ready: true,
        restartCount: 5,
        lastState: { terminated: { exitCode: 1, reason: 'Error', finishedAt: ago(60) } },
      },
    }),
    objects: [good],
    root: 'Crashes',
    says: 'has ended 5 times',
  },
  {
    name: 'a ConfigMap of a volume that is missing',
    about: withConfigMap,
    objects: [good],
    root: 'ConfigMapMissing',
    says: 'ConfigMap settings does not exist',
  },
  {
    name: 'a key of a Secret that is missing',
    about: withSecretKey,
    objects: [
      good,
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'keys', namespace: 'shop' },
        data: { public: 'QQ==' },
      } as never,
    ],
    root: 'SecretKeyMissing',
    says: 'no key private',
    quotes: 'public',
  },
  {
    name: 'a ConfigMap of the environment that is missing',
    about: withEnvironment,
    objects: [good],
    root: 'ConfigMapMissing',
    says: 'Container app cannot be configured',
  },
  {
    name: 'an image that runs as root',
    about: named(waiting('CreateContainerConfigError', 'container has runAsNonRoot and image will run as root')),
    objects: [good],
    root: 'RunsAsRoot',
    says: 'must not run as root',
  },
  {
    name: 'a claim that is missing',
    about: pod({ spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] } }),
    objects: [good],
    root: 'ClaimMissing',
    says: 'PersistentVolumeClaim data does not exist',
  },
  {
    name: 'a network plugin that fails',
    about: sandbox,
    objects: [good],
    events: [
      event(
        sandbox,
        'FailedCreatePodSandBox',
        'Failed to create pod sandbox: plugin type="bridge" failed (add): no IP addresses available (cni)',
      ),
    ],
    root: 'PodNetworkFailed',
    says: 'network plugin',
    quotes: 'no IP addresses',
  },
  {
    name: 'a sandbox that cannot be created',
    about: sandbox,
    objects: [good],
    events: [event(sandbox, 'FailedCreatePodSandBox', 'Failed to create pod sandbox: pause image missing')],
    root: 'SandboxFailed',
    says: 'sandbox',
  },
  {
    name: 'a volume that cannot be mounted',
    about: mount,
    objects: [good],
    events: [event(mount, 'FailedMount', 'MountVolume.SetUp failed for volume "data": exit status 32')],
    root: 'VolumeNotMounted',
    says: 'cannot be mounted',
    quotes: 'exit status 32',
  },
  {
    name: 'a node that is silent before the pod starts',
    about: pod(),
    objects: [silentNode, lease('kube-node-lease', 'n1', 90)],
    root: 'NodeSilent',
    says: 'has not reported for 90 seconds',
  },
  {
    name: 'a node whose runtime is down',
    about: pod(),
    objects: [
      node(
        {},
        {
          status: {
            conditions: [
              { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: 'container runtime is down' },
            ],
          },
        },
      ),
    ],
    root: 'RuntimeDown',
    says: 'not ready',
    quotes: 'container runtime is down',
  },
  {
    name: 'a node that is gone',
    about: pod(),
    objects: [],
    root: 'NodeMissing',
    says: 'Node n1 does not exist',
  },
  {
    name: 'a running pod on a silent node',
    about: pod({ phase: 'Running', app: { ...running, ready: true } }),
    objects: [silentNode],
    root: 'NodeSilent',
    says: 'has not reported',
  },
  {
    name: 'a pod that fits nowhere',
    about: unscheduled('0/3 nodes are available: 3 Insufficient cpu.'),
    objects: [good],
    root: 'FitsNowhere',
    says: 'No node can take the pod',
    quotes: '3 Insufficient cpu',
  },
  {
    name: 'a pod that waits for others to end',
    about: unscheduled('0/3 nodes are available', {
      status: { nominatedNodeName: 'n1', conditions: [{ type: 'PodScheduled', status: 'False' }] },
    }),
    objects: [good],
    root: 'WaitsForPreemption',
    says: 'on node n1',
  },
  {
    name: 'a pod of a scheduler that does not exist',
    about: pod({ node: '', spec: { schedulerName: 'fancy' }, status: { conditions: [] } }),
    objects: [good],
    root: 'SchedulerMissing',
    says: 'Scheduler fancy',
  },
  {
    name: 'a scheduler that is down',
    about: pod({ node: '', spec: { schedulerName: 'default-scheduler' }, status: { conditions: [] } }),
    objects: [good],
    root: 'SchedulerSilent',
    says: 'No scheduler has looked',
  },
  {
    name: 'a pod without a node that waits for a claim',
    about: unscheduled('pod has unbound immediate PersistentVolumeClaims', {
      spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] },
    }),
    objects: [good],
    root: 'ClaimMissing',
    says: 'does not exist',
  },
  {
    name: 'an evicted pod',
    about: pod({
      phase: 'Failed',
      status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
    }),
    objects: [good],
    root: 'Evicted',
    says: 'evicted',
    quotes: 'low on resource: memory',
  },
  {
    name: 'a pod evicted by a node that is still short',
    about: pod({
      phase: 'Failed',
      status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
    }),
    objects: [node({ MemoryPressure: 'True' })],
    root: 'NodeMemoryPressure',
    says: 'short of memory',
  },
  {
    name: 'a pod beyond its deadline',
    about: pod({
      phase: 'Failed',
      status: {
        phase: 'Failed',
        reason: 'DeadlineExceeded',
        message: 'Pod was active on the node longer than the specified deadline',
      },
    }),
    objects: [good],
    root: 'DeadlineExceeded',
    says: 'activeDeadlineSeconds',
  },
  {
    name: 'a pod that the node refused',
    about: pod({
      phase: 'Failed',
      status: {
        phase: 'Failed',
        reason: 'OutOfcpu',
        message: 'Node did not have enough resource: cpu, requested: 4000',
      },
    }),
    objects: [good],
    root: 'RefusedByNode',
    says: 'Node n1 refused',
  },
  {
    name: 'a pod on a machine that was shut down',
    about: pod({
      phase: 'Failed',
      status: {
        phase: 'Failed',
        reason: 'Terminated',
        message: 'Pod was terminated in response to imminent node shutdown.',
      },
    }),
    objects: [good],
    root: 'NodeShutdown',
    says: 'shutting down',
  },
  {
    name: 'a pod whose container failed for good',
    about: pod({ phase: 'Failed', app: { state: { terminated: { exitCode: 3, reason: 'Error' } } } }),
    objects: [good],
    logs: { 'web-0/app': ['no input'] },
    root: 'Crashes',
    says: 'exit code 3',
    quotes: 'no input',
  },
  {
    name: 'a deleted pod on a silent node',
    about: terminating(),
    objects: [silentNode],
    root: 'NodeSilent',
    says: 'has not reported',
  },
  {
    name: 'a deleted pod that does not end',
    about: terminating(),
    objects: [good],
    root: 'PodDoesNotEnd',
    says: '120 seconds ago',
  },
  {
    name: 'a deleted pod with a finalizer',
    about: terminating({ phase: 'Succeeded', metadata: { finalizers: ['example.com/backup'] } }),
    objects: [good],
    root: 'FinalizerPending',
    says: 'example.com/backup of the controller of example.com',
  },
  {
    name: 'a pod with two containers that fail',
    about: pod({
      phase: 'Running',
      spec: { containers: [{ name: 'app' }, { name: 'side' }] },
      status: {
        containerStatuses: [
          { name: 'app', ready: false, restartCount: 4, image: '', imageID: '', ...crashed(2) },
          {
            name: 'side',
            ready: false,
            restartCount: 0,
            image: 'side:9',
            imageID: '',
            ...waiting('ErrImagePull', 'side:9: not found'),
          },
        ],
      },
    }),
    objects: [good],
    root: 'Crashes',
    says: 'Container app',
    others: ['ImageMissing'],
  },
];
