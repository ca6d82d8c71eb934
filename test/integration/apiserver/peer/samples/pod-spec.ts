/** Pod specs with commonly used fields. */

const container = {
  name: 'main',
  image: 'example/main:1.0',
  command: ['/bin/main'],
  args: ['--port', '8080'],
  ports: [{ name: 'http', containerPort: 8080 }],
  env: [
    { name: 'LEVEL', value: 'info' },
    { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
  ],
  resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '1', memory: '128Mi' } },
  volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
  livenessProbe: { httpGet: { path: '/healthz', port: 'http' } },
  readinessProbe: { tcpSocket: { port: 8080 } },
  securityContext: { runAsNonRoot: true, capabilities: { drop: ['ALL'] } },
};

const initContainer = { name: 'prepare', image: 'example/prepare:1.0', command: ['true'] };

export const smallPodSpec = { containers: [{ name: 'main', image: 'example/main:1.0' }] };

export const podSpec = {
  initContainers: [initContainer],
  containers: [container],
  volumes: [{ name: 'scratch', emptyDir: {} }],
  nodeSelector: { disk: 'fast' },
  tolerations: [{ key: 'example.com/dedicated', operator: 'Exists', effect: 'NoSchedule' }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a', 'b'] }] }],
      },
    },
  },
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'example' } },
    },
  ],
  securityContext: { runAsUser: 1000, fsGroup: 2000 },
};

export const smallTemplate = { metadata: { labels: { app: 'example' } }, spec: smallPodSpec };
export const template = { metadata: { labels: { app: 'example' }, annotations: { note: 'x' } }, spec: podSpec };
export const selector = { matchLabels: { app: 'example' } };
