/** The strategy of every resource. A kind without its own strategy gets the generic one. */
import {
  mutatingWebhookConfigurationStrategy,
  validatingWebhookConfigurationStrategy,
} from '#api/admissionregistration/v1/webhook/strategy.js';
import { customResourceDefinitionStrategy } from '#api/apiextensions/v1/customresourcedefinition/strategy.js';
import { apiServiceStrategy } from '#api/apiregistration/v1/apiservice/strategy.js';
import { storageVersionStrategy } from '#api/apiserverinternal/v1alpha1/storageversion/strategy.js';
import { controllerRevisionStrategy } from '#api/apps/v1/controllerrevision/strategy.js';
import { daemonSetStrategy } from '#api/apps/v1/daemonset/strategy.js';
import { deploymentStrategy } from '#api/apps/v1/deployment/strategy.js';
import { replicaSetStrategy } from '#api/apps/v1/replicaset/strategy.js';
import { statefulSetStrategy } from '#api/apps/v1/statefulset/strategy.js';
import { horizontalPodAutoscalerV1Strategy } from '#api/autoscaling/v1/horizontalpodautoscaler/strategy.js';
import { horizontalPodAutoscalerStrategy } from '#api/autoscaling/v2/horizontalpodautoscaler/strategy.js';
import { horizontalPodAutoscalerV2beta1Strategy } from '#api/autoscaling/v2beta1/horizontalpodautoscaler/strategy.js';
import { horizontalPodAutoscalerV2beta2Strategy } from '#api/autoscaling/v2beta2/horizontalpodautoscaler/strategy.js';
import { cronJobStrategy } from '#api/batch/v1/cronjob/strategy.js';
import { jobStrategy } from '#api/batch/v1/job/strategy.js';
import { cronJobV1beta1Strategy } from '#api/batch/v1beta1/cronjob/strategy.js';
import { certificateSigningRequestStrategy } from '#api/certificates/v1/certificatesigningrequest/strategy.js';
import { leaseStrategy } from '#api/coordination/v1/lease/strategy.js';
import { componentStatusStrategy } from '#api/core/v1/componentstatus/strategy.js';
import { configMapStrategy } from '#api/core/v1/configmap/strategy.js';
import { endpointsStrategy } from '#api/core/v1/endpoints/strategy.js';
import { eventStrategy } from '#api/core/v1/event/strategy.js';
import { limitRangeStrategy } from '#api/core/v1/limitrange/strategy.js';
import { namespaceStrategy } from '#api/core/v1/namespace/strategy.js';
import { nodeStrategy } from '#api/core/v1/node/strategy.js';
import { persistentVolumeStrategy } from '#api/core/v1/persistentvolume/strategy.js';
import { persistentVolumeClaimStrategy } from '#api/core/v1/persistentvolumeclaim/strategy.js';
import { podStrategy } from '#api/core/v1/pod/strategy.js';
import { podTemplateStrategy } from '#api/core/v1/podtemplate/strategy.js';
import { replicationControllerStrategy } from '#api/core/v1/replicationcontroller/strategy.js';
import { resourceQuotaStrategy } from '#api/core/v1/resourcequota/strategy.js';
import { secretStrategy } from '#api/core/v1/secret/strategy.js';
import { serviceStrategy } from '#api/core/v1/service/strategy.js';
import { serviceAccountStrategy } from '#api/core/v1/serviceaccount/strategy.js';
import { endpointSliceStrategy } from '#api/discovery/v1/endpointslice/strategy.js';
import { endpointSliceV1beta1Strategy } from '#api/discovery/v1beta1/endpointslice/strategy.js';
import { eventsV1Strategy } from '#api/events/v1/event/strategy.js';
import { eventsV1beta1Strategy } from '#api/events/v1beta1/event/strategy.js';
import { flowschemas, prioritylevelconfigurations } from '#api/flowcontrol/v1beta1/resources.gen.js';
import { flowSchemaStrategy } from '#api/flowcontrol/v1beta2/flowschema/strategy.js';
import { priorityLevelConfigurationStrategy } from '#api/flowcontrol/v1beta2/prioritylevelconfiguration/strategy.js';
import { nodeMetricsStrategy, podMetricsStrategy } from '#api/metrics/v1beta1/usage/strategy.js';
import { ingressStrategy } from '#api/networking/v1/ingress/strategy.js';
import { ingressClassStrategy } from '#api/networking/v1/ingressclass/strategy.js';
import { networkPolicyStrategy } from '#api/networking/v1/networkpolicy/strategy.js';
import { runtimeClassStrategy } from '#api/node/v1/runtimeclass/strategy.js';
import { runtimeclasses } from '#api/node/v1beta1/resources.gen.js';
import { podDisruptionBudgetStrategy } from '#api/policy/v1/poddisruptionbudget/strategy.js';
import { podDisruptionBudgetV1beta1Strategy } from '#api/policy/v1beta1/poddisruptionbudget/strategy.js';
import { podSecurityPolicyStrategy } from '#api/policy/v1beta1/podsecuritypolicy/strategy.js';
import { clusterRoleBindingStrategy, roleBindingStrategy } from '#api/rbac/v1/binding/strategy.js';
import { clusterRoleStrategy, roleStrategy } from '#api/rbac/v1/role/strategy.js';
import { priorityClassStrategy } from '#api/scheduling/v1/priorityclass/strategy.js';
import { csiStorageCapacityStrategy } from '#api/storage/v1/csistoragecapacity/strategy.js';
import { csiDriverStrategy, csiNodeStrategy, volumeAttachmentStrategy } from '#api/storage/v1/driver/strategies.js';
import { storageClassStrategy } from '#api/storage/v1/storageclass/strategy.js';
import { csistoragecapacities } from '#api/storage/v1beta1/resources.gen.js';
import { renamedStrategy } from '#api/strategy/converted-strategy.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';

function keyOf(resource: ResourceDeclaration): string {
  return `${resource.group}/${resource.version}/${resource.resource}`;
}

const own: ReadonlyMap<string, Strategy> = new Map<string, Strategy>([
  ['admissionregistration/v1/mutatingwebhookconfigurations', mutatingWebhookConfigurationStrategy],
  ['admissionregistration/v1/validatingwebhookconfigurations', validatingWebhookConfigurationStrategy],
  ['apiextensions/v1/customresourcedefinitions', customResourceDefinitionStrategy],
  ['apiregistration/v1/apiservices', apiServiceStrategy],
  ['apiserverinternal/v1alpha1/storageversions', storageVersionStrategy],
  ['apps/v1/controllerrevisions', controllerRevisionStrategy],
  ['apps/v1/daemonsets', daemonSetStrategy],
  ['apps/v1/deployments', deploymentStrategy],
  ['apps/v1/replicasets', replicaSetStrategy],
  ['apps/v1/statefulsets', statefulSetStrategy],
  ['autoscaling/v1/horizontalpodautoscalers', horizontalPodAutoscalerV1Strategy],
  ['autoscaling/v2/horizontalpodautoscalers', horizontalPodAutoscalerStrategy],
  ['autoscaling/v2beta1/horizontalpodautoscalers', horizontalPodAutoscalerV2beta1Strategy],
  ['autoscaling/v2beta2/horizontalpodautoscalers', horizontalPodAutoscalerV2beta2Strategy],
  ['batch/v1/cronjobs', cronJobStrategy],
  ['batch/v1/jobs', jobStrategy],
  ['batch/v1beta1/cronjobs', cronJobV1beta1Strategy],
  ['certificates/v1/certificatesigningrequests', certificateSigningRequestStrategy],
  ['coordination/v1/leases', leaseStrategy],
  ['core/v1/componentstatuses', componentStatusStrategy],
  ['core/v1/configmaps', configMapStrategy],
  ['core/v1/endpoints', endpointsStrategy],
  ['core/v1/events', eventStrategy],
  ['core/v1/limitranges', limitRangeStrategy],
  ['core/v1/namespaces', namespaceStrategy],
  ['core/v1/nodes', nodeStrategy],
  ['core/v1/persistentvolumeclaims', persistentVolumeClaimStrategy],
  ['core/v1/persistentvolumes', persistentVolumeStrategy],
  ['core/v1/pods', podStrategy],
  ['core/v1/podtemplates', podTemplateStrategy],
  ['core/v1/replicationcontrollers', replicationControllerStrategy],
  ['core/v1/resourcequotas', resourceQuotaStrategy],
  ['core/v1/secrets', secretStrategy],
  ['core/v1/serviceaccounts', serviceAccountStrategy],
  ['core/v1/services', serviceStrategy],
  ['discovery/v1/endpointslices', endpointSliceStrategy],
  ['discovery/v1beta1/endpointslices', endpointSliceV1beta1Strategy],
  ['events/v1/events', eventsV1Strategy],
  ['events/v1beta1/events', eventsV1beta1Strategy],
  ['flowcontrol/v1beta1/flowschemas', renamedStrategy(flowschemas, flowSchemaStrategy)],
  [
    'flowcontrol/v1beta1/prioritylevelconfigurations',
    renamedStrategy(prioritylevelconfigurations, priorityLevelConfigurationStrategy),
  ],
  ['flowcontrol/v1beta2/flowschemas', flowSchemaStrategy],
  ['flowcontrol/v1beta2/prioritylevelconfigurations', priorityLevelConfigurationStrategy],
  ['metrics/v1beta1/nodes', nodeMetricsStrategy],
  ['metrics/v1beta1/pods', podMetricsStrategy],
  ['networking/v1/ingressclasses', ingressClassStrategy],
  ['networking/v1/ingresses', ingressStrategy],
  ['networking/v1/networkpolicies', networkPolicyStrategy],
  ['node/v1/runtimeclasses', runtimeClassStrategy],
  ['node/v1beta1/runtimeclasses', renamedStrategy(runtimeclasses, runtimeClassStrategy)],
  ['policy/v1/poddisruptionbudgets', podDisruptionBudgetStrategy],
  ['policy/v1beta1/poddisruptionbudgets', podDisruptionBudgetV1beta1Strategy],
  ['policy/v1beta1/podsecuritypolicies', podSecurityPolicyStrategy],
  ['rbac/v1/clusterrolebindings', clusterRoleBindingStrategy],
  ['rbac/v1/clusterroles', clusterRoleStrategy],
  ['rbac/v1/rolebindings', roleBindingStrategy],
  ['rbac/v1/roles', roleStrategy],
  ['scheduling/v1/priorityclasses', priorityClassStrategy],
  ['storage/v1/csistoragecapacities', csiStorageCapacityStrategy],
  ['storage/v1/csidrivers', csiDriverStrategy],
  ['storage/v1/csinodes', csiNodeStrategy],
  ['storage/v1/storageclasses', storageClassStrategy],
  ['storage/v1/volumeattachments', volumeAttachmentStrategy],
  ['storage/v1beta1/csistoragecapacities', renamedStrategy(csistoragecapacities, csiStorageCapacityStrategy)],
]);

/** The strategy of the resource; the caller should cache it. */
export function strategyFor(resource: ResourceDeclaration): Strategy {
  return own.get(keyOf(resource)) ?? kindStrategy(resource);
}
