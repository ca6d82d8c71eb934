/** Versions that 1.24 serves beside the stable ones, and the kind with only such a version. */
import { horizontalpodautoscalers as autoscalersV2beta1 } from '#api/autoscaling/v2beta1/resources.gen.js';
import { horizontalpodautoscalers as autoscalersV2beta2 } from '#api/autoscaling/v2beta2/resources.gen.js';
import { cronjobs } from '#api/batch/v1beta1/resources.gen.js';
import { endpointslices } from '#api/discovery/v1beta1/resources.gen.js';
import { events } from '#api/events/v1beta1/resources.gen.js';
import { flowschemas, prioritylevelconfigurations } from '#api/flowcontrol/v1beta1/resources.gen.js';
import { runtimeclasses } from '#api/node/v1beta1/resources.gen.js';
import { poddisruptionbudgets, podsecuritypolicies } from '#api/policy/v1beta1/resources.gen.js';
import { csistoragecapacities } from '#api/storage/v1beta1/resources.gen.js';
import { administrationCases } from '#test/integration/apiserver/resources/administration.js';
import { clusterCases } from '#test/integration/apiserver/resources/cluster.js';
import { type AnyCase, resourceCase, versionCase } from '#test/integration/apiserver/resources/resource-case.js';
import { workloadCases } from '#test/integration/apiserver/resources/workloads.js';

const metadata = { name: 'example' };
const stable = [...workloadCases, ...clusterCases, ...administrationCases];

/** The case of a resource's newest version. */
function like(name: string): AnyCase {
  const match = stable.findLast(({ resource }) => resource.resource === name);
  if (match === undefined) throw new RangeError(`no case of ${name}`);
  return match;
}

export const betaCases: readonly AnyCase[] = [
  resourceCase({
    resource: autoscalersV2beta1,
    example: () => ({
      metadata,
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'example' }, maxReplicas: 3 },
    }),
    defaults: {
      'spec.minReplicas': 1,
      'spec.metrics.0.type': 'Resource',
      'spec.metrics.0.resource.targetAverageUtilization': 80,
    },
    invalid: { change: { 'spec.maxReplicas': 0 }, causes: ['spec.maxReplicas'] },
    cells: { Reference: 'Deployment/example', Targets: '<unknown>/80%', MinPods: '1', MaxPods: '3', Replicas: '0' },
  }),
  versionCase(autoscalersV2beta2, like('horizontalpodautoscalers')),
  versionCase(cronjobs, like('cronjobs')),
  versionCase(endpointslices, like('endpointslices')),
  versionCase(events, like('events'), { causes: ['reportingInstance', 'action'] }),
  versionCase(flowschemas, like('flowschemas')),
  versionCase(prioritylevelconfigurations, like('prioritylevelconfigurations')),
  versionCase(runtimeclasses, like('runtimeclasses')),
  versionCase(poddisruptionbudgets, like('poddisruptionbudgets')),
  versionCase(csistoragecapacities, like('csistoragecapacities')),
  resourceCase({
    resource: podsecuritypolicies,
    example: () => ({
      metadata,
      spec: {
        privileged: false,
        seLinux: { rule: 'RunAsAny' },
        runAsUser: { rule: 'MustRunAsNonRoot' },
        supplementalGroups: { rule: 'MustRunAs', ranges: [{ min: 1, max: 65535 }] },
        fsGroup: { rule: 'RunAsAny' },
        volumes: ['configMap', 'secret'],
      },
    }),
    defaults: { 'spec.allowPrivilegeEscalation': true },
    invalid: {
      change: {
        'spec.runAsUser.rule': 'Perhaps',
        'spec.volumes': ['tape'],
        'spec.supplementalGroups.ranges.0.min': -1,
      },
      causes: ['spec.runAsUser.rule', 'spec.volumes', 'spec.supplementalGroups.ranges[0].min'],
    },
    cells: {
      Priv: 'false',
      Caps: '',
      SELinux: 'RunAsAny',
      RunAsUser: 'MustRunAsNonRoot',
      FsGroup: 'RunAsAny',
      SupGroup: 'MustRunAs',
      ReadOnlyRootFs: false,
      Volumes: 'configMap,secret',
    },
  }),
];
