/**
 * Named Go types of text, number and map fields in 1.24, which its decoders mention in errors: by group version, types
 * and their fields (k8s.io/api, `types.go`).
 */
const fieldsByType: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'admission.v1': {
    'types.UID': 'AdmissionRequest.uid AdmissionResponse.uid',
    'v1.Operation': 'AdmissionRequest.operation',
    'v1.PatchType': 'AdmissionResponse.patchType',
  },
  'admission.v1beta1': {
    'types.UID': 'AdmissionRequest.uid AdmissionResponse.uid',
    'v1beta1.Operation': 'AdmissionRequest.operation',
    'v1beta1.PatchType': 'AdmissionResponse.patchType',
  },
  'admissionregistration.v1': {
    'v1.FailurePolicyType': 'MutatingWebhook.failurePolicy ValidatingWebhook.failurePolicy',
    'v1.MatchPolicyType': 'MutatingWebhook.matchPolicy ValidatingWebhook.matchPolicy',
    'v1.OperationType': 'RuleWithOperations.operations',
    'v1.ReinvocationPolicyType': 'MutatingWebhook.reinvocationPolicy',
    'v1.ScopeType': 'Rule.scope',
    'v1.SideEffectClass': 'MutatingWebhook.sideEffects ValidatingWebhook.sideEffects',
  },
  'apiextensions.v1': {
    'types.UID': 'ConversionRequest.uid ConversionResponse.uid',
    'v1.ConditionStatus': 'CustomResourceDefinitionCondition.status',
    'v1.ConversionStrategyType': 'CustomResourceConversion.strategy',
    'v1.CustomResourceDefinitionConditionType': 'CustomResourceDefinitionCondition.type',
    'v1.JSONSchemaDefinitions': 'JSONSchemaProps.definitions',
    'v1.JSONSchemaDependencies': 'JSONSchemaProps.dependencies',
    'v1.JSONSchemaURL': 'JSONSchemaProps.$schema',
    'v1.ResourceScope': 'CustomResourceDefinitionSpec.scope',
    'v1.ValidationRules': 'JSONSchemaProps.x-orch-validations',
  },
  'apiregistration.v1': {
    'v1.APIServiceConditionType': 'APIServiceCondition.type',
    'v1.ConditionStatus': 'APIServiceCondition.status',
  },
  'apiserverinternal.v1alpha1': {
    'v1alpha1.ConditionStatus': 'StorageVersionCondition.status',
    'v1alpha1.StorageVersionConditionType': 'StorageVersionCondition.type',
  },
  'apps.v1': {
    'v1.ConditionStatus':
      'DaemonSetCondition.status DeploymentCondition.status ReplicaSetCondition.status StatefulSetCondition.status',
    'v1.DaemonSetConditionType': 'DaemonSetCondition.type',
    'v1.DaemonSetUpdateStrategyType': 'DaemonSetUpdateStrategy.type',
    'v1.DeploymentConditionType': 'DeploymentCondition.type',
    'v1.DeploymentStrategyType': 'DeploymentStrategy.type',
    'v1.PersistentVolumeClaimRetentionPolicyType':
      'StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled',
    'v1.PodManagementPolicyType': 'StatefulSetSpec.podManagementPolicy',
    'v1.ReplicaSetConditionType': 'ReplicaSetCondition.type',
    'v1.StatefulSetConditionType': 'StatefulSetCondition.type',
    'v1.StatefulSetUpdateStrategyType': 'StatefulSetUpdateStrategy.type',
  },
  'authentication.v1': {
    'types.UID': 'BoundObjectReference.uid',
  },
  'autoscaling.v1': {
    'v1.ConditionStatus': 'HorizontalPodAutoscalerCondition.status',
    'v1.HorizontalPodAutoscalerConditionType': 'HorizontalPodAutoscalerCondition.type',
    'v1.MetricSourceType': 'MetricSpec.type MetricStatus.type',
    'v1.ResourceName':
      'ContainerResourceMetricSource.name ContainerResourceMetricStatus.name ResourceMetricSource.name ResourceMetricStatus.name',
  },
  'autoscaling.v2': {
    'v1.ConditionStatus': 'HorizontalPodAutoscalerCondition.status',
    'v1.ResourceName':
      'ContainerResourceMetricSource.name ContainerResourceMetricStatus.name ResourceMetricSource.name ResourceMetricStatus.name',
    'v2.HPAScalingPolicyType': 'HPAScalingPolicy.type',
    'v2.HorizontalPodAutoscalerConditionType': 'HorizontalPodAutoscalerCondition.type',
    'v2.MetricSourceType': 'MetricSpec.type MetricStatus.type',
    'v2.MetricTargetType': 'MetricTarget.type',
    'v2.ScalingPolicySelect': 'HPAScalingRules.selectPolicy',
  },
  'autoscaling.v2beta1': {
    'v1.ConditionStatus': 'HorizontalPodAutoscalerCondition.status',
    'v1.ResourceName':
      'ContainerResourceMetricSource.name ContainerResourceMetricStatus.name ResourceMetricSource.name ResourceMetricStatus.name',
    'v2beta1.HorizontalPodAutoscalerConditionType': 'HorizontalPodAutoscalerCondition.type',
    'v2beta1.MetricSourceType': 'MetricSpec.type MetricStatus.type',
  },
  'autoscaling.v2beta2': {
    'v1.ConditionStatus': 'HorizontalPodAutoscalerCondition.status',
    'v1.ResourceName':
      'ContainerResourceMetricSource.name ContainerResourceMetricStatus.name ResourceMetricSource.name ResourceMetricStatus.name',
    'v2beta2.HPAScalingPolicyType': 'HPAScalingPolicy.type',
    'v2beta2.HorizontalPodAutoscalerConditionType': 'HorizontalPodAutoscalerCondition.type',
    'v2beta2.MetricSourceType': 'MetricSpec.type MetricStatus.type',
    'v2beta2.MetricTargetType': 'MetricTarget.type',
    'v2beta2.ScalingPolicySelect': 'HPAScalingRules.selectPolicy',
  },
  'batch.v1': {
    'types.UID': 'UncountedTerminatedPods.failed UncountedTerminatedPods.succeeded',
    'v1.CompletionMode': 'JobSpec.completionMode',
    'v1.ConcurrencyPolicy': 'CronJobSpec.concurrencyPolicy',
    'v1.ConditionStatus': 'JobCondition.status',
    'v1.JobConditionType': 'JobCondition.type',
  },
  'batch.v1beta1': {
    'v1beta1.ConcurrencyPolicy': 'CronJobSpec.concurrencyPolicy',
  },
  'certificates.v1': {
    'v1.ConditionStatus': 'CertificateSigningRequestCondition.status',
    'v1.KeyUsage': 'CertificateSigningRequestSpec.usages',
    'v1.RequestConditionType': 'CertificateSigningRequestCondition.type',
  },
  'core.v1': {
    'types.UID': 'ConfigMapNodeConfigSource.uid ObjectReference.uid Preconditions.uid',
    'v1.AzureDataDiskCachingMode': 'AzureDiskVolumeSource.cachingMode',
    'v1.AzureDataDiskKind': 'AzureDiskVolumeSource.kind',
    'v1.Capability': 'Capabilities.add Capabilities.drop',
    'v1.ComponentConditionType': 'ComponentCondition.type',
    'v1.ConditionStatus':
      'ComponentCondition.status NamespaceCondition.status NodeCondition.status PersistentVolumeClaimCondition.status PodCondition.status ReplicationControllerCondition.status',
    'v1.DNSPolicy': 'PodSpec.dnsPolicy',
    'v1.FinalizerName': 'NamespaceSpec.finalizers',
    'v1.HostPathType': 'HostPathVolumeSource.type',
    'v1.IPFamily': 'ServiceSpec.ipFamilies',
    'v1.IPFamilyPolicyType': 'ServiceSpec.ipFamilyPolicy',
    'v1.LimitType': 'LimitRangeItem.type',
    'v1.MountPropagationMode': 'VolumeMount.mountPropagation',
    'v1.NamespaceConditionType': 'NamespaceCondition.type',
    'v1.NamespacePhase': 'NamespaceStatus.phase',
    'v1.NodeAddressType': 'NodeAddress.type',
    'v1.NodeConditionType': 'NodeCondition.type',
    'v1.NodePhase': 'NodeStatus.phase',
    'v1.NodeSelectorOperator': 'NodeSelectorRequirement.operator',
    'v1.OSName': 'PodOS.name',
    'v1.PersistentVolumeAccessMode':
      'PersistentVolumeClaimSpec.accessModes PersistentVolumeClaimStatus.accessModes PersistentVolumeSpec.accessModes',
    'v1.PersistentVolumeClaimConditionType': 'PersistentVolumeClaimCondition.type',
    'v1.PersistentVolumeClaimPhase': 'PersistentVolumeClaimStatus.phase',
    'v1.PersistentVolumeClaimResizeStatus': 'PersistentVolumeClaimStatus.resizeStatus',
    'v1.PersistentVolumeMode': 'PersistentVolumeClaimSpec.volumeMode PersistentVolumeSpec.volumeMode',
    'v1.PersistentVolumePhase': 'PersistentVolumeStatus.phase',
    'v1.PersistentVolumeReclaimPolicy': 'PersistentVolumeSpec.persistentVolumeReclaimPolicy',
    'v1.PodConditionType': 'PodCondition.type PodReadinessGate.conditionType',
    'v1.PodFSGroupChangePolicy': 'PodSecurityContext.fsGroupChangePolicy',
    'v1.PodPhase': 'PodStatus.phase',
    'v1.PodQOSClass': 'PodStatus.qosClass',
    'v1.PreemptionPolicy': 'PodSpec.preemptionPolicy',
    'v1.ProcMountType': 'SecurityContext.procMount',
    'v1.Protocol': 'ContainerPort.protocol EndpointPort.protocol PortStatus.protocol ServicePort.protocol',
    'v1.PullPolicy': 'Container.imagePullPolicy EphemeralContainerCommon.imagePullPolicy',
    'v1.ReplicationControllerConditionType': 'ReplicationControllerCondition.type',
    'v1.ResourceList':
      'LimitRangeItem.default LimitRangeItem.defaultRequest LimitRangeItem.max LimitRangeItem.maxLimitRequestRatio LimitRangeItem.min NodeStatus.allocatable NodeStatus.capacity PersistentVolumeClaimStatus.allocatedResources PersistentVolumeClaimStatus.capacity PersistentVolumeSpec.capacity PodSpec.overhead ResourceQuotaSpec.hard ResourceQuotaStatus.hard ResourceQuotaStatus.used ResourceRequirements.limits ResourceRequirements.requests',
    'v1.ResourceQuotaScope': 'ResourceQuotaSpec.scopes ScopedResourceSelectorRequirement.scopeName',
    'v1.RestartPolicy': 'PodSpec.restartPolicy',
    'v1.ScopeSelectorOperator': 'ScopedResourceSelectorRequirement.operator',
    'v1.SeccompProfileType': 'SeccompProfile.type',
    'v1.SecretType': 'Secret.type',
    'v1.ServiceAffinity': 'ServiceSpec.sessionAffinity',
    'v1.ServiceExternalTrafficPolicyType': 'ServiceSpec.externalTrafficPolicy',
    'v1.ServiceInternalTrafficPolicyType': 'ServiceSpec.internalTrafficPolicy',
    'v1.ServiceType': 'ServiceSpec.type',
    'v1.StorageMedium': 'EmptyDirVolumeSource.medium',
    'v1.TaintEffect': 'Taint.effect Toleration.effect',
    'v1.TerminationMessagePolicy':
      'Container.terminationMessagePolicy EphemeralContainerCommon.terminationMessagePolicy',
    'v1.TolerationOperator': 'Toleration.operator',
    'v1.URIScheme': 'HTTPGetAction.scheme',
    'v1.UniqueVolumeName': 'AttachedVolume.name NodeStatus.volumesInUse',
    'v1.UnsatisfiableConstraintAction': 'TopologySpreadConstraint.whenUnsatisfiable',
  },
  'discovery.v1': {
    'v1.AddressType': 'EndpointSlice.addressType',
    'v1.Protocol': 'EndpointPort.protocol',
  },
  'discovery.v1beta1': {
    'v1.Protocol': 'EndpointPort.protocol',
    'v1beta1.AddressType': 'EndpointSlice.addressType',
  },
  'flowcontrol.v1beta1': {
    'v1beta1.ConditionStatus': 'FlowSchemaCondition.status PriorityLevelConfigurationCondition.status',
    'v1beta1.FlowDistinguisherMethodType': 'FlowDistinguisherMethod.type',
    'v1beta1.FlowSchemaConditionType': 'FlowSchemaCondition.type',
    'v1beta1.LimitResponseType': 'LimitResponse.type',
    'v1beta1.PriorityLevelConfigurationConditionType': 'PriorityLevelConfigurationCondition.type',
    'v1beta1.PriorityLevelEnablement': 'PriorityLevelConfigurationSpec.type',
    'v1beta1.SubjectKind': 'Subject.kind',
  },
  'flowcontrol.v1beta2': {
    'v1beta2.ConditionStatus': 'FlowSchemaCondition.status PriorityLevelConfigurationCondition.status',
    'v1beta2.FlowDistinguisherMethodType': 'FlowDistinguisherMethod.type',
    'v1beta2.FlowSchemaConditionType': 'FlowSchemaCondition.type',
    'v1beta2.LimitResponseType': 'LimitResponse.type',
    'v1beta2.PriorityLevelConfigurationConditionType': 'PriorityLevelConfigurationCondition.type',
    'v1beta2.PriorityLevelEnablement': 'PriorityLevelConfigurationSpec.type',
    'v1beta2.SubjectKind': 'Subject.kind',
  },
  'meta.v1': {
    'types.UID': 'ObjectMeta.uid OwnerReference.uid Preconditions.uid StatusDetails.uid',
    'v1.CauseType': 'StatusCause.reason',
    'v1.ConditionStatus': 'Condition.status TableRowCondition.status',
    'v1.DeletionPropagation': 'DeleteOptions.propagationPolicy',
    'v1.IncludeObjectPolicy': 'TableOptions.includeObject',
    'v1.LabelSelectorOperator': 'LabelSelectorRequirement.operator',
    'v1.ManagedFieldsOperationType': 'ManagedFieldsEntry.operation',
    'v1.ResourceVersionMatch': 'ListOptions.resourceVersionMatch',
    'v1.RowConditionType': 'TableRowCondition.type',
    'v1.StatusReason': 'Status.reason',
  },
  'networking.v1': {
    'v1.PathType': 'HTTPIngressPath.pathType',
    'v1.PolicyType': 'NetworkPolicySpec.policyTypes',
    'v1.Protocol': 'NetworkPolicyPort.protocol',
  },
  'node.v1': {
    'v1.ResourceList': 'Overhead.podFixed',
  },
  'node.v1beta1': {
    'v1.ResourceList': 'Overhead.podFixed',
  },
  'policy.v1beta1': {
    'v1.Capability':
      'PodSecurityPolicySpec.allowedCapabilities PodSecurityPolicySpec.defaultAddCapabilities PodSecurityPolicySpec.requiredDropCapabilities',
    'v1.ProcMountType': 'PodSecurityPolicySpec.allowedProcMountTypes',
    'v1beta1.FSGroupStrategyType': 'FSGroupStrategyOptions.rule',
    'v1beta1.FSType': 'PodSecurityPolicySpec.volumes',
    'v1beta1.RunAsGroupStrategy': 'RunAsGroupStrategyOptions.rule',
    'v1beta1.RunAsUserStrategy': 'RunAsUserStrategyOptions.rule',
    'v1beta1.SELinuxStrategy': 'SELinuxStrategyOptions.rule',
    'v1beta1.SupplementalGroupsStrategyType': 'SupplementalGroupsStrategyOptions.rule',
  },
  'scheduling.v1': {
    'v1.PreemptionPolicy': 'PriorityClass.preemptionPolicy',
  },
  'storage.v1': {
    'v1.FSGroupPolicy': 'CSIDriverSpec.fsGroupPolicy',
    'v1.PersistentVolumeReclaimPolicy': 'StorageClass.reclaimPolicy',
    'v1.VolumeBindingMode': 'StorageClass.volumeBindingMode',
    'v1.VolumeLifecycleMode': 'CSIDriverSpec.volumeLifecycleModes',
  },
  'storage.v1beta1': {
    'v1.PersistentVolumeReclaimPolicy': 'StorageClass.reclaimPolicy',
    'v1beta1.FSGroupPolicy': 'CSIDriverSpec.fsGroupPolicy',
    'v1beta1.VolumeBindingMode': 'StorageClass.volumeBindingMode',
    'v1beta1.VolumeLifecycleMode': 'CSIDriverSpec.volumeLifecycleModes',
  },
};

/**
 * The Go type of a field by message and name: `core.v1.Container.imagePullPolicy`. For lists, that of their elements.
 */
export const goTypes: ReadonlyMap<string, string> = new Map(
  Object.entries(fieldsByType).flatMap(([groupVersion, types]) =>
    Object.entries(types).flatMap(([goType, fields]) =>
      fields.split(' ').map((field) => [`${groupVersion}.${field}`, goType] as const),
    ),
  ),
);
