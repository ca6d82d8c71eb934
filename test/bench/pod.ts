/** A pod as controllers make it: 2.5 kB of JSON. */
import type { Pod } from '#api/core/v1/types.gen.js';

export function benchPod(name: string): Pod {
  const container = (index: number): Pod['spec']['containers'][number] => ({
    name: `container-${index}`,
    image: `registry.example.com/team/service-${index}:1.24.${index}`,
    command: ['/usr/local/bin/service', '--config=/etc/service/config.yaml', `--instance=${index}`],
    ports: [{ name: `http-${index}`, containerPort: 8080 + index, protocol: 'TCP' }],
    env: [
      { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
      { name: 'LOG_LEVEL', value: 'info' },
      { name: 'ENDPOINT', value: 'https://collector.monitoring.svc.cluster.local:4317/v1/traces' },
    ],
    resources: { requests: { cpu: '250m', memory: '256Mi' }, limits: { cpu: '1', memory: '512Mi' } },
    readinessProbe: { httpGet: { path: '/ready', port: 8080 + index }, periodSeconds: 5, failureThreshold: 3 },
    volumeMounts: [{ name: 'config', mountPath: '/etc/service', readOnly: true }],
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, runAsNonRoot: true },
  });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      labels: { app: 'web', tier: 'frontend', 'pod-template-hash': '6d4cf56db6' },
      annotations: { 'example.com/checksum': 'c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00' },
    },
    spec: {
      containers: [container(0), container(1)],
      volumes: [{ name: 'config', configMap: { name: 'service-config', defaultMode: 420 } }],
      serviceAccountName: 'web',
      nodeSelector: { disk: 'fast' },
      terminationGracePeriodSeconds: 45,
      tolerations: [{ key: 'example.com/dedicated', operator: 'Equal', value: 'web', effect: 'NoSchedule' }],
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'topology.example.com/zone',
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: { app: 'web' } },
        },
      ],
    },
  };
}
