/** All product names. A cluster uses one of two dialects, chosen at its creation. Other files never spell a name. */

/** Dialect-neutral name of an API group: the folder below `pkg/api`. */
export type GroupKey =
  | 'core'
  | 'apps'
  | 'batch'
  | 'autoscaling'
  | 'policy'
  | 'rbac'
  | 'networking'
  | 'storage'
  | 'scheduling'
  | 'node'
  | 'coordination'
  | 'discovery'
  | 'events'
  | 'certificates'
  | 'authentication'
  | 'authorization'
  | 'admissionregistration'
  | 'admission'
  | 'apiextensions'
  | 'apiregistration'
  | 'flowcontrol'
  | 'apiserverinternal'
  | 'metrics'
  | 'meta';

export type DialectName = 'orch' | 'kubernetes';

const groupPrefix: Record<GroupKey, string | undefined> = {
  core: '',
  apps: undefined,
  batch: undefined,
  autoscaling: undefined,
  policy: undefined,
  rbac: 'rbac.authorization',
  networking: 'networking',
  storage: 'storage',
  scheduling: 'scheduling',
  node: 'node',
  coordination: 'coordination',
  discovery: 'discovery',
  events: 'events',
  certificates: 'certificates',
  authentication: 'authentication',
  authorization: 'authorization',
  admissionregistration: 'admissionregistration',
  admission: 'admission',
  apiextensions: 'apiextensions',
  apiregistration: 'apiregistration',
  flowcontrol: 'flowcontrol.apiserver',
  apiserverinternal: 'internal.apiserver',
  metrics: 'metrics',
  meta: 'meta',
};

export const groupKeys = Object.keys(groupPrefix) as GroupKey[];

interface Words {
  readonly name: DialectName;
  /** Product part of names: `orch-system`, `kube-system`. */
  readonly short: string;
  /** Domain of API groups. */
  readonly api: string;
  /** Domain of labels, annotations, taints, finalizers, signers. */
  readonly label: string;
  /** The node agent's name in identifiers. */
  readonly agent: string;
  /** The node agent's name in camel case identifiers. */
  readonly agentIdentifier: string;
  /** The scheduler's name in the group of its configuration files. */
  readonly schedulerIdentifier: string;
  /** Prefix of annotations and labels of the command-line client. */
  readonly cli: string;
  readonly reverse: string;
  /** Prefix of the DNS server's metrics. */
  readonly dnsMetrics: string;
  /** Status code for lists with mutually exclusive options. */
  readonly invalidCombination: 400 | 422;
}

function makeDialect(w: Words) {
  const product = w.name;
  const env = product.toUpperCase();
  const groupName = (key: GroupKey): string => {
    const prefix = groupPrefix[key];
    if (prefix === undefined) return key;
    return prefix === '' ? '' : `${prefix}.${w.api}`;
  };
  const byGroupName = new Map(groupKeys.map((key) => [groupName(key), key]));
  return Object.freeze({
    name: w.name,
    /** `orch` or `kubernetes`. */
    product,
    /** The product in texts for people: `Orch`, `Kubernetes`. */
    displayName: `${product.charAt(0).toUpperCase()}${product.slice(1)}`,
    /** The product in short names, such as options: `orch`, `kube`. */
    shortName: w.short,
    /** The node agent in identifiers of configuration files: `nodeAgent`, `kubelet`. */
    nodeAgentIdentifier: w.agentIdentifier,
    /** API version and kind of the scheduler's configuration files. */
    schedulerConfig: {
      apiVersion: `${w.schedulerIdentifier}.config.${w.api}/v1beta3`,
      kind: `${w.short.charAt(0).toUpperCase()}${w.short.slice(1)}SchedulerConfiguration`,
    },
    /** Group of the controller manager's configuration. */
    controllerManagerConfigGroup: `${w.short}controllermanager.config.${w.api}`,
    /** API version of the API server's configuration files. */
    apiServerConfigVersion: `apiserver.config.${w.api}/v1`,
    /** The older API version of the configuration of admission plugins. */
    apiServerAlphaVersion: `apiserver.${w.api}/v1alpha1`,
    /** API versions of the configurations of two admission plugins. */
    eventRateLimitVersion: `eventratelimit.admission.${w.api}/v1alpha1`,
    podTolerationRestrictionVersion: `podtolerationrestriction.admission.${w.api}/v1alpha1`,
    /** Group and version of the questions why an object is stuck, which are not part of 1.24. */
    insight: { group: `insight.${w.api}`, version: 'v1alpha1', apiVersion: `insight.${w.api}/v1alpha1` },
    /** Reviews of images: the API version, and the domain of annotations. */
    imagePolicy: { apiVersion: `imagepolicy.${w.api}/v1alpha1`, domain: `image-policy.${w.api}` },
    /** API versions of the tracing configuration. */
    tracingConfigVersions: [`apiserver.config.${w.api}/v1alpha1`, `apiserver.config.${w.api}/v1beta1`],
    /** API versions of the configuration of Pod Security. */
    podSecurityConfigVersions: ['v1alpha1', 'v1beta1', 'v1'].map(
      (version) => `pod-security.admission.config.${w.api}/${version}`,
    ),
    /** Groups of metrics; other servers provide all but the first: `custom.metrics.k8s.io`. */
    metricsGroups: {
      resource: groupName('metrics'),
      custom: `custom.metrics.${w.api}`,
      external: `external.metrics.${w.api}`,
    },
    /** Prefix of encrypted values in the store: `k8s:enc:`. */
    encryptedPrefix: `${w.api.split('.')[0]}:enc:`,
    apiDomain: w.api,
    labelDomain: w.label,
    /** Prefix of OpenAPI extensions: `x-orch-` / `x-kubernetes-`. */
    extensionPrefix: `x-${product}-`,
    protobufMediaType: `application/vnd.${product}.protobuf`,
    /** The gitVersion of `/version`. */
    version: 'v1.24.0',
    /** Status code for lists with mutually exclusive options: specification 1, section 7, differs from 1.24. */
    invalidCombination: w.invalidCombination,
    /** Prefix of the DNS server's metrics. */
    dnsMetricsPrefix: w.dnsMetrics,
    /** Prefix of the service proxy's metrics. */
    proxyMetricsPrefix: `${w.short}proxy`,
    /** The API group's name on the wire; empty for core. */
    groupName,
    /** `v1`, `apps/v1`, `coordination.orch.io/v1`. */
    apiVersion: (key: GroupKey, version: string): string => {
      const group = groupName(key);
      return group === '' ? version : `${group}/${version}`;
    },
    /** The key of a group by its name on the wire; undefined for an unknown group. */
    groupKey: (name: string): GroupKey | undefined => byGroupName.get(name),
    namespaces: {
      default: 'default',
      system: `${w.short}-system`,
      public: `${w.short}-public`,
      nodeLease: `${w.short}-node-lease`,
    },
    users: {
      admin: `${product}-admin`,
      apiServer: 'system:apiserver',
      /** The user as which the API server probes extension API servers. */
      aggregator: `system:${w.short}-aggregator`,
      scheduler: `system:${w.short}-scheduler`,
      controllerManager: `system:${w.short}-controller-manager`,
      /** The user of requests without credentials. */
      anonymous: 'system:anonymous',
      ingress: `system:${w.short}-ingress`,
      serviceProxy: `system:${w.short}-proxy`,
      /** The user that reads metrics. */
      prometheus: 'prometheus',
      nodePrefix: 'system:node:',
      /** Prefix of bootstrap token users; the token's id follows. */
      bootstrapPrefix: 'system:bootstrap:',
      /** Common name of the API server's client certificate for node agents. */
      apiServerNodeAgentClient: `${w.short}-apiserver-${w.agent}-client`,
    },
    groups: {
      /** The group of all bootstrap token users. */
      bootstrappers: 'system:bootstrappers',
      masters: 'system:masters',
      /** The group of users that may read health and metrics. */
      monitoring: 'system:monitoring',
      nodes: 'system:nodes',
      authenticated: 'system:authenticated',
      unauthenticated: 'system:unauthenticated',
      serviceAccounts: 'system:serviceaccounts',
    },
    signers: {
      apiServerClient: `${w.label}/${w.short}-apiserver-client`,
      apiServerClientNodeAgent: `${w.label}/${w.short}-apiserver-client-${w.agent}`,
      nodeAgentServing: `${w.label}/${w.agent}-serving`,
      legacyUnknown: `${w.label}/legacy-unknown`,
    },
    components: {
      apiServer: `${w.short}-apiserver`,
      controllerManager: `${w.short}-controller-manager`,
      scheduler: `${w.short}-scheduler`,
      nodeAgent: w.agent,
      serviceProxy: `${w.short}-proxy`,
      ingress: `${w.short}-ingress`,
      /** The default scheduler name of pods. */
      defaultScheduler: 'default-scheduler',
    },
    /** The API's own Service in the default namespace. */
    apiServiceName: product,
    namespaceFinalizer: product,
    /** Annotation of jobs that track their pods by finalizers, and the finalizer of those pods. */
    jobTracking: `batch.${w.label}/job-tracking`,
    rootCAConfigMap: `${w.short}-root-ca.crt`,
    /** Prefix of environment variables in pods: `<prefix>_SERVICE_HOST`. */
    serviceEnvPrefix: env,
    serviceAccountPath: `/var/run/secrets/${w.label}/serviceaccount`,
    /** Prefix of the node agent's labels on sandboxes and containers. */
    runtimeLabelPrefix: `io.${w.reverse}`,
    /** Prefix of the annotations that control simulated pods, with its slash. */
    simulationPrefix: `sim.${w.label}/`,
    bookmarkAnnotation: `${w.api}/initial-events-end`,
    labels: {
      hostname: `${w.label}/hostname`,
      os: `${w.label}/os`,
      arch: `${w.label}/arch`,
      zone: `topology.${w.label}/zone`,
      region: `topology.${w.label}/region`,
      instanceType: `node.${w.label}/instance-type`,
      betaInstanceType: `beta.${w.label}/instance-type`,
      betaOS: `beta.${w.label}/os`,
      betaArch: `beta.${w.label}/arch`,
      metadataName: `${w.label}/metadata.name`,
      nodeRolePrefix: `node-role.${w.label}/`,
      controlPlaneRole: `node-role.${w.label}/control-plane`,
      bootstrapping: `${w.label}/bootstrapping`,
      serviceName: `${w.label}/service-name`,
      endpointSliceManagedBy: `endpointslice.${w.label}/managed-by`,
      skipMirror: `endpointslice.${w.label}/skip-mirror`,
      headlessService: `service.${w.label}/headless`,
      /** On services for another proxy than the standard one: its name. */
      serviceProxyName: `service.${w.label}/service-proxy-name`,
      podTemplateHash: 'pod-template-hash',
      controllerRevisionHash: 'controller-revision-hash',
      podTemplateGeneration: 'pod-template-generation',
      /** On ControllerRevisions: the hash of their data. */
      revisionHash: `controller.${w.label}/hash`,
      statefulSetPodName: `statefulset.${w.label}/pod-name`,
      excludeBalancers: `node.${w.label}/exclude-from-external-load-balancers`,
      /** On APIServices that the server manages: `onstart`, or `true`. */
      autoManaged: `${w.short}-aggregator.${w.label}/automanaged`,
    },
    /** Value of the managed-by label on slices of the endpoint slice controller. */
    endpointSliceManager: `endpointslice-controller.${w.api}`,
    annotations: {
      deploymentRevision: `deployment.${w.label}/revision`,
      revisionHistory: `deployment.${w.label}/revision-history`,
      desiredReplicas: `deployment.${w.label}/desired-replicas`,
      maxReplicas: `deployment.${w.label}/max-replicas`,
      rollbackTo: 'deprecated.deployment.rollback.to',
      lastApplied: `${w.cli}.${w.label}/last-applied-configuration`,
      restartedAt: `${w.cli}.${w.label}/restartedAt`,
      defaultContainer: `${w.cli}.${w.label}/default-container`,
      changeCause: `${w.label}/change-cause`,
      podDeletionCost: `controller.${w.label}/pod-deletion-cost`,
      jobCompletionIndex: `batch.${w.label}/job-completion-index`,
      autoUpdate: `rbac.authorization.${w.label}/autoupdate`,
      description: `${w.label}/description`,
      configSource: `${w.label}/config.source`,
      configHash: `${w.label}/config.hash`,
      configSeen: `${w.label}/config.seen`,
      configMirror: `${w.label}/config.mirror`,
      serviceAccountName: `${w.label}/service-account.name`,
      serviceAccountUID: `${w.label}/service-account.uid`,
      nodeTTL: `node.alpha.${w.label}/ttl`,
      endpointsLastChange: `endpoints.${w.label}/last-change-trigger-time`,
      overCapacity: `endpoints.${w.label}/over-capacity`,
      topologyAwareHints: `service.${w.label}/topology-aware-hints`,
      leader: `control-plane.alpha.${w.label}/leader`,
      controllerAttachDetach: `volumes.${w.label}/controller-managed-attach-detach`,
      enforceMountable: `${w.label}/enforce-mountable-secrets`,
      /** On claims: binding to the volume is complete. */
      bindCompleted: `pv.${w.label}/bind-completed`,
      /** On claims and volumes: the controller bound them, as opposed to a binding set by their creator. */
      boundByController: `pv.${w.label}/bound-by-controller`,
      /** On volumes: the provisioner that created them. */
      provisionedBy: `pv.${w.label}/provisioned-by`,
      /** On volumes that are directories of a node: the name of that node. */
      localVolumeNode: `pv.${w.label}/local-directory-node`,
      /** On volumes: the supplemental group of processes in pods that use it. */
      volumeGroup: `pv.beta.${w.label}/gid`,
      /** On claims: the provisioner that must create the volume. */
      storageProvisioner: `volume.${w.label}/storage-provisioner`,
      betaStorageProvisioner: `volume.beta.${w.label}/storage-provisioner`,
      /** On services: the address pool of a bare-metal load balancer. */
      loadBalancerPool: `bare-metal.${w.label}/pool`,
      /** On services: those of a namespace with the same value may share an address. */
      loadBalancerSharing: `bare-metal.${w.label}/sharing-key`,
      /** On services: the addresses reserved for them before their status shows them. */
      loadBalancerAddresses: `bare-metal.${w.label}/addresses`,
      /** On claims that wait for a pod: the node that the scheduler chose. */
      selectedNode: `volume.${w.label}/selected-node`,
      /** On namespaces: labels of the nodes that its pods may use, tolerations that its pods get, and those that they may have. */
      nodeSelector: `scheduler.alpha.${w.label}/node-selector`,
      defaultTolerations: `scheduler.alpha.${w.label}/defaultTolerations`,
      tolerationsWhitelist: `scheduler.alpha.${w.label}/tolerationsWhitelist`,
      /** On CSINodes: the in-tree volume plugins that CSI drivers replace. */
      migratedPlugins: `storage.alpha.${w.label}/migrated-plugins`,
      /** On nodes: the names that storage drivers have for them, as JSON. */
      csiNodeID: `csi.volume.${w.label}/nodeid`,
      /** On any object: it may not be deleted; not part of 1.24, like the next two. */
      protectFromDeletion: `${w.label}/protect-from-deletion`,
      /** On workloads: they roll out when ConfigMaps and Secrets that their pods use change. */
      rollOnChange: `${w.label}/roll-on-change`,
      /** On pod templates: the hash of those ConfigMaps and Secrets. */
      referencesHash: `${w.label}/references-hash`,
    },
    /** Names for Ingresses and their classes of the built-in controller. */
    ingress: {
      /** The controller name of its classes. */
      controller: `${w.label}/ingress`,
      /** On the class for Ingresses without a class. */
      defaultClassAnnotation: `ingressclass.${w.label}/is-default-class`,
      /** On Ingresses: the older way to name a class. */
      classAnnotation: `${w.label}/ingress.class`,
    },
    taints: {
      notReady: `node.${w.label}/not-ready`,
      unreachable: `node.${w.label}/unreachable`,
      unschedulable: `node.${w.label}/unschedulable`,
      memoryPressure: `node.${w.label}/memory-pressure`,
      diskPressure: `node.${w.label}/disk-pressure`,
      pidPressure: `node.${w.label}/pid-pressure`,
      networkUnavailable: `node.${w.label}/network-unavailable`,
      /** An administrator says that the node is shut down and does not come back by itself. */
      outOfService: `node.${w.label}/out-of-service`,
      /** The external cloud provider has not initialized the node yet. */
      uninitialized: `node.cloudprovider.${w.label}/uninitialized`,
      /** The cloud provider reports that the machine is shut down. */
      shutdown: `node.cloudprovider.${w.label}/shutdown`,
    },
    finalizers: {
      pvProtection: `${w.label}/pv-protection`,
      pvcProtection: `${w.label}/pvc-protection`,
      loadBalancerCleanup: `service.${w.label}/load-balancer-cleanup`,
      orphan: 'orphan',
      foreground: 'foregroundDeletion',
      customResourceCleanup: `customresourcecleanup.apiextensions.${w.api}`,
    },
    secretTypes: {
      opaque: 'Opaque',
      serviceAccountToken: `${w.label}/service-account-token`,
      dockercfg: `${w.label}/dockercfg`,
      dockerConfigJson: `${w.label}/dockerconfigjson`,
      basicAuth: `${w.label}/basic-auth`,
      sshAuth: `${w.label}/ssh-auth`,
      tls: `${w.label}/tls`,
      bootstrapToken: `bootstrap.${w.label}/token`,
    },
    /** Extra user info of bound service account tokens. */
    tokenExtras: {
      podName: `authentication.${w.label}/pod-name`,
      podUID: `authentication.${w.label}/pod-uid`,
    },
    /** Private claim of service account tokens. */
    tokenClaim: `${w.label}`,
  });
}

export type Dialect = ReturnType<typeof makeDialect>;

export const orchDialect: Dialect = makeDialect({
  name: 'orch',
  short: 'orch',
  api: 'orch.io',
  label: 'orch.io',
  agent: 'nodeagent',
  agentIdentifier: 'nodeAgent',
  schedulerIdentifier: 'scheduler',
  cli: 'orchctl',
  reverse: 'orch',
  dnsMetrics: 'orch_dns',
  invalidCombination: 400,
});

export const kubernetesDialect: Dialect = makeDialect({
  name: 'kubernetes',
  short: 'kube',
  api: 'k8s.io',
  label: 'kubernetes.io',
  agent: 'kubelet',
  agentIdentifier: 'kubelet',
  schedulerIdentifier: 'kubescheduler',
  cli: 'kubectl',
  reverse: 'kubernetes',
  dnsMetrics: 'coredns',
  invalidCombination: 422,
});

/** Names in kustomizations, which are the same in both dialects because published kustomizations have them. */
export const kustomizeNames = {
  apiVersion: 'kustomize.config.k8s.io/v1beta1',
  componentVersion: 'kustomize.config.k8s.io/v1alpha1',
  /** Annotation of objects that no server gets. */
  localConfig: 'config.kubernetes.io/local-config',
  managedBy: 'app.kubernetes.io/managed-by',
  /** Annotations of ingresses with names of secrets, and of config maps. */
  ingressSecrets: [
    'ingress.kubernetes.io/auth-secret',
    'nginx.ingress.kubernetes.io/auth-secret',
    'nginx.ingress.kubernetes.io/auth-tls-secret',
  ],
  ingressConfigMaps: ['nginx.ingress.kubernetes.io/fastcgi-params-configmap'],
} as const;

/** The dialect of that name. Throws a RangeError that lists valid names. */
export function dialectByName(name: string): Dialect {
  if (name === 'orch') return orchDialect;
  if (name === 'kubernetes') return kubernetesDialect;
  throw new RangeError(`unknown dialect "${name}": must be "orch" or "kubernetes"`);
}
