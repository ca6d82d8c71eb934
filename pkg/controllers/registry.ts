/** The table of all controllers: how each is created from the manager's options. */
import { external } from '#cloud/registry.js';
import { AttachDetachController } from '#controllers/attachdetach/controller.js';
import { BootstrapSignerController } from '#controllers/bootstrapsigner/controller.js';
import { CloudNodeLifecycleController } from '#controllers/cloudnodelifecycle/controller.js';
import { ClusterRoleAggregationController } from '#controllers/clusterroleaggregation/controller.js';
import { CronJobController } from '#controllers/cronjob/controller.js';
import { CSRApprovingController } from '#controllers/csrapproving/controller.js';
import { CSRCleanerController } from '#controllers/csrcleaner/controller.js';
import { CSRSigningController } from '#controllers/csrsigning/controller.js';
import { DaemonSetController } from '#controllers/daemonset/controller.js';
import { DeploymentController } from '#controllers/deployment/controller.js';
import { DisruptionController } from '#controllers/disruption/controller.js';
import { EndpointController } from '#controllers/endpoint/controller.js';
import { EndpointSliceController } from '#controllers/endpointslice/controller.js';
import { EndpointSliceMirroringController } from '#controllers/endpointslicemirroring/controller.js';
import { EphemeralVolumeController } from '#controllers/ephemeralvolume/controller.js';
import type { ControllerFactory } from '#controllers/factory.js';
import { GarbageCollector } from '#controllers/garbagecollector/controller.js';
import { HorizontalPodAutoscalerController } from '#controllers/horizontalpodautoscaling/controller.js';
import { JobController } from '#controllers/job/controller.js';
import { LocalStorageCapacityController } from '#controllers/localstoragecapacity/controller.js';
import { NamespaceController } from '#controllers/namespace/controller.js';
import { NodeIPAMController } from '#controllers/nodeipam/controller.js';
import { nodeRanges, serviceRanges } from '#controllers/nodeipam/ranges.js';
import { NodeLifecycleController } from '#controllers/nodelifecycle/controller.js';
import type { ControllerManagerValues } from '#controllers/options/options.js';
import { PersistentVolumeBinder } from '#controllers/persistentvolumebinder/controller.js';
import { PersistentVolumeExpander } from '#controllers/persistentvolumeexpander/controller.js';
import { PodGCController } from '#controllers/podgc/controller.js';
import { PVCProtectionController } from '#controllers/pvcprotection/controller.js';
import { PVProtectionController } from '#controllers/pvprotection/controller.js';
import { ReplicaSetController } from '#controllers/replicaset/controller.js';
import type { Ranking } from '#controllers/replicaset/ranking.js';
import { replicaSetKind, replicationControllerKind } from '#controllers/replicaset/replicated-kinds.js';
import { ResourceQuotaController } from '#controllers/resourcequota/controller.js';
import { RollOnChangeController } from '#controllers/rollonchange/controller.js';
import { RootCAController } from '#controllers/rootca/controller.js';
import { RouteController } from '#controllers/route/controller.js';
import { ServiceController } from '#controllers/service/controller.js';
import { ServiceAccountController } from '#controllers/serviceaccount/controller.js';
import { ServiceAccountTokenController } from '#controllers/serviceaccounttoken/controller.js';
import { StatefulSetController } from '#controllers/statefulset/controller.js';
import { StorageVersionGC } from '#controllers/storageversiongc/controller.js';
import { TokenCleanerController } from '#controllers/tokencleaner/controller.js';
import { TTLController } from '#controllers/ttl/controller.js';
import { TTLAfterFinishedController } from '#controllers/ttlafterfinished/controller.js';
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';

const runsExternally = 'the external cloud provider runs it';
const isExternal = (values: ControllerManagerValues): boolean => values['cloud-provider'] === external;

/** The controllers that need a cloud provider. The reasons are those of 1.24. */
const cloudControllerFactories = {
  'cloud-node-lifecycle': (context, { values, cloud }) => {
    if (isExternal(values)) return runsExternally;
    if (cloud === undefined) return 'no cloud provider provided';
    if (cloud.instances === undefined) return 'cloud provider does not support instances';
    return new CloudNodeLifecycleController(context, {
      instances: cloud.instances,
      monitorPeriodMs: values['node-monitor-period'],
    });
  },
  route: (context, { values, cloud }) => {
    if (isExternal(values)) return runsExternally;
    const { 'allocate-node-cidrs': allocates, 'configure-cloud-routes': configures } = values;
    if (!allocates || !configures) {
      return `Will not configure cloud provider routes for allocate-node-cidrs: ${allocates}, configure-cloud-routes: ${configures}.`;
    }
    const refused = (why: string) =>
      `configure-cloud-routes is set, but ${why}. Will not configure cloud provider routes.`;
    if (cloud === undefined) return refused('no cloud provider specified');
    if (cloud.routes === undefined) return refused('cloud provider does not support routes');
    return new RouteController(context, {
      routes: cloud.routes,
      cluster: values['cluster-name'],
      clusterRanges: nodeRanges(values).map(({ range }) => range),
      periodMs: values['route-reconciliation-period'],
    });
  },
  service: (context, { values, cloud }) => {
    if (isExternal(values)) return runsExternally;
    if (cloud === undefined) return 'no cloud provider provided, services of type LoadBalancer will fail';
    if (cloud.loadBalancers === undefined) return 'the cloud provider does not support external load balancers';
    return new ServiceController(context, {
      balancers: cloud.loadBalancers,
      cluster: values['cluster-name'],
      concurrency: values['concurrent-service-syncs'],
    });
  },
} as const satisfies Readonly<Record<string, ControllerFactory>>;

/** The feature gates of controllers. */
export const controllerGates: readonly FeatureGateName[] = [
  'APIServerIdentity',
  'CronJobTimeZone',
  'DaemonSetUpdateSurge',
  'DisableCloudProviders',
  'HonorPVReclaimPolicy',
  'JobReadyPods',
  'JobTrackingWithFinalizers',
  'LegacyServiceAccountTokenNoAutoGeneration',
  'LogarithmicScaleDown',
  'MaxUnavailableStatefulSet',
  'NodeOutOfServiceVolumeDetach',
  'PodDeletionCost',
  'StatefulSetAutoDeletePVC',
  'StatefulSetMinReadySeconds',
  'StorageVersionAPI',
];

/** The concurrency in 1.24, which has no option for it. */
const daemonSetConcurrency = 2;

/** The concurrency of controllers for which 1.24 has no option. */
const unspecifiedConcurrency = 5;

function rankingBy(gates: FeatureGates): Ranking {
  return { costs: gates.enabled('PodDeletionCost'), logarithmic: gates.enabled('LogarithmicScaleDown') };
}

/** By name in `--controllers`. */
export const controllerFactories: Readonly<Record<string, ControllerFactory>> = {
  ...cloudControllerFactories,
  attachdetach: (context, { values }) =>
    new AttachDetachController(context, {
      syncPeriodMs: values['disable-attach-detach-reconcile-sync'] ? 0 : values['attach-detach-reconcile-sync-period'],
      detachesOutOfService: new FeatureGates(values['feature-gates']).enabled('NodeOutOfServiceVolumeDetach'),
    }),
  bootstrapsigner: (context) => new BootstrapSignerController(context),
  'clusterrole-aggregation': (context) => new ClusterRoleAggregationController(context),
  cronjob: (context, { values }) =>
    new CronJobController(context, {
      concurrency: unspecifiedConcurrency,
      timeZones: new FeatureGates(values['feature-gates']).enabled('CronJobTimeZone'),
      localZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    }),
  csrapproving: (context) => new CSRApprovingController(context),
  csrcleaner: (context) => new CSRCleanerController(context),
  csrsigning: (context, { values, authorities }) =>
    Object.keys(authorities).length === 0
      ? 'no signing certificate and key are configured'
      : new CSRSigningController(context, { authorities, maxDurationMs: values['cluster-signing-duration'] }),
  daemonset: (context, { values }) =>
    new DaemonSetController(context, {
      concurrency: daemonSetConcurrency,
      surgeEnabled: new FeatureGates(values['feature-gates']).enabled('DaemonSetUpdateSurge'),
    }),
  deployment: (context, { values }) =>
    new DeploymentController(context, { concurrency: values['concurrent-deployment-syncs'] }),
  disruption: (context) => new DisruptionController(context),
  endpoint: (context, { values }) =>
    new EndpointController(context, {
      concurrency: values['concurrent-endpoint-syncs'],
      batchPeriodMs: values['endpoint-updates-batch-period'],
    }),
  endpointslice: (context, { values }) =>
    new EndpointSliceController(context, {
      concurrency: values['concurrent-service-endpoint-syncs'],
      batchPeriodMs: values['endpointslice-updates-batch-period'],
      maxEndpointsPerSlice: values['max-endpoints-per-slice'],
    }),
  endpointslicemirroring: (context, { values }) =>
    new EndpointSliceMirroringController(context, {
      concurrency: values['mirroring-concurrent-service-endpoint-syncs'],
      batchPeriodMs: values['mirroring-endpointslice-updates-batch-period'],
      maxEndpointsPerSubset: values['mirroring-max-endpoints-per-subset'],
    }),
  'ephemeral-volume': (context, { values }) =>
    new EphemeralVolumeController(context, { concurrency: values['concurrent-ephemeralvolume-syncs'] }),
  garbagecollector: (context, { values }) =>
    values['enable-garbage-collector']
      ? new GarbageCollector(context, { concurrency: values['concurrent-gc-syncs'] })
      : '--enable-garbage-collector is off',
  horizontalpodautoscaling: (context, { values }) =>
    new HorizontalPodAutoscalerController(context, {
      syncPeriodMs: values['horizontal-pod-autoscaler-sync-period'],
      downscaleStabilizationMs: values['horizontal-pod-autoscaler-downscale-stabilization'],
      tolerance: values['horizontal-pod-autoscaler-tolerance'],
      cpuInitializationMs: values['horizontal-pod-autoscaler-cpu-initialization-period'],
      initialReadinessMs: values['horizontal-pod-autoscaler-initial-readiness-delay'],
    }),
  job: (context, { values }) => {
    const gates = new FeatureGates(values['feature-gates']);
    return new JobController(context, {
      concurrency: unspecifiedConcurrency,
      trackWithFinalizers: gates.enabled('JobTrackingWithFinalizers'),
      readyPods: gates.enabled('JobReadyPods'),
    });
  },
  'roll-on-change': (context) => new RollOnChangeController(context),
  'local-storage-capacity': (context) => new LocalStorageCapacityController(context),
  namespace: (context, { values }) =>
    new NamespaceController(context, {
      concurrency: values['concurrent-namespace-syncs'],
      resyncMs: values['namespace-sync-period'],
    }),
  nodeipam: (context, { values }) => {
    if (!values['allocate-node-cidrs']) return '--allocate-node-cidrs is off';
    const { ranges, unknown } = serviceRanges(values);
    for (const range of unknown)
      context.log.warn({ range }, 'ignored a value of --service-cluster-ip-range that is not a CIDR');
    return new NodeIPAMController(context, { ranges: nodeRanges(values), serviceRanges: ranges });
  },
  nodelifecycle: (context, { values }) =>
    new NodeLifecycleController(context, {
      grace: { runningMs: values['node-monitor-grace-period'], startupMs: values['node-startup-grace-period'] },
      monitorPeriodMs: values['node-monitor-period'],
      zones: {
        evictionRate: values['node-eviction-rate'],
        secondaryEvictionRate: values['secondary-node-eviction-rate'],
        largeClusterSize: values['large-cluster-size-threshold'],
        unhealthyThreshold: values['unhealthy-zone-threshold'],
      },
      taintManager: values['enable-taint-manager'],
      podEvictionTimeoutMs: values['pod-eviction-timeout'],
    }),
  'persistentvolume-binder': (context, { values, recyclers, hostDirectories }) =>
    new PersistentVolumeBinder(context, {
      syncPeriodMs: values['pvclaimbinder-sync-period'],
      provisioning: values['enable-dynamic-provisioning'],
      honorPolicy: new FeatureGates(values['feature-gates']).enabled('HonorPVReclaimPolicy'),
      ...(values['enable-hostpath-provisioner'] && hostDirectories !== undefined ? { hostDirectories } : {}),
      recyclers: {
        nfs: {
          minimumSeconds: values['pv-recycler-minimum-timeout-nfs'],
          secondsPerGi: values['pv-recycler-increment-timeout-nfs'],
          ...(recyclers.nfs === undefined ? {} : { template: recyclers.nfs }),
        },
        hostPath: {
          minimumSeconds: values['pv-recycler-minimum-timeout-hostpath'],
          secondsPerGi: values['pv-recycler-timeout-increment-hostpath'],
          ...(recyclers.hostPath === undefined ? {} : { template: recyclers.hostPath }),
        },
      },
    }),
  'persistentvolume-expander': (context) => new PersistentVolumeExpander(context),
  podgc: (context, { values }) =>
    new PodGCController(context, {
      terminatedThreshold: values['terminated-pod-gc-threshold'],
      collectsOutOfService: new FeatureGates(values['feature-gates']).enabled('NodeOutOfServiceVolumeDetach'),
    }),
  'pv-protection': (context) => new PVProtectionController(context),
  'pvc-protection': (context) => new PVCProtectionController(context),
  replicaset: (context, { values }) =>
    new ReplicaSetController(context, replicaSetKind, {
      concurrency: values['concurrent-replicaset-syncs'],
      ranking: rankingBy(new FeatureGates(values['feature-gates'])),
    }),
  replicationcontroller: (context, { values }) =>
    new ReplicaSetController(context, replicationControllerKind, {
      concurrency: values['concurrent-rc-syncs'],
      ranking: rankingBy(new FeatureGates(values['feature-gates'])),
    }),
  resourcequota: (context, { values }) =>
    new ResourceQuotaController(context, {
      concurrency: values['concurrent-resource-quota-syncs'],
      syncPeriodMs: values['resource-quota-sync-period'],
    }),
  'root-ca-cert-publisher': (context, { rootCA }) =>
    rootCA === undefined ? 'there is no --root-ca-file to publish' : new RootCAController(context, { rootCA }),
  serviceaccount: (context) => new ServiceAccountController(context),
  'serviceaccount-token': (context, { values, rootCA, tokenKey }) =>
    tokenKey === undefined
      ? 'no private key is configured'
      : new ServiceAccountTokenController(context, {
          concurrency: values['concurrent-serviceaccount-token-syncs'],
          key: tokenKey,
          rootCA,
          generate: !new FeatureGates(values['feature-gates']).enabled('LegacyServiceAccountTokenNoAutoGeneration'),
        }),
  statefulset: (context, { values }) => {
    const gates = new FeatureGates(values['feature-gates']);
    return new StatefulSetController(context, {
      concurrency: values['concurrent-statefulset-syncs'],
      features: {
        autoDeletePVC: gates.enabled('StatefulSetAutoDeletePVC'),
        maxUnavailable: gates.enabled('MaxUnavailableStatefulSet'),
        minReadySeconds: gates.enabled('StatefulSetMinReadySeconds'),
      },
    });
  },
  tokencleaner: (context) => new TokenCleanerController(context),
  'storage-version-gc': (context) => new StorageVersionGC(context),
  ttl: (context) => new TTLController(context),
  'ttl-after-finished': (context, { values }) =>
    new TTLAfterFinishedController(context, { concurrency: values['concurrent-ttl-after-finished-syncs'] }),
};
