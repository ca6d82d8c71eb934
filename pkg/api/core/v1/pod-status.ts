import { condition, defineTypes, message, object, optional, pointer } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    PodCondition: condition(
      "One aspect of a pod's state.",
      { type: { enum: 'PodConditionType' }, status: { enum: 'ConditionStatus' } },
      {
        lastProbeTime: optional(3, 'meta.v1.Time', 'When the condition was last checked.'),
      },
    ),
    PodIP: message('An IP address of a pod.', {
      ip: optional(1, 'string', 'The address.'),
    }),
    PodStatus: message('What was last observed of a pod.', {
      phase: optional(1, 'string', { enum: 'PodPhase' }, 'Where the pod is in its life: `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.'),
      conditions: optional(2, 'PodCondition[]', { patchMergeKey: 'type' }, 'Latest observations of single aspects of the state, one per condition type.'),
      message: optional(3, 'string', 'Details on why the pod is as it is, for people.'),
      reason: optional(4, 'string', 'Why the pod is as it is, in one word, such as `Evicted`.'),
      nominatedNodeName: optional(11, 'string', 'Node where room is being made for the pod by removing others.'),
      hostIP: optional(5, 'string', 'Address of the node.'),
      podIP: optional(6, 'string', 'Address of the pod. The first entry of `podIPs`.'),
      podIPs: optional(12, 'PodIP[]', { patchMergeKey: 'ip' }, 'Addresses of the pod, at most one of each address family.'),
      startTime: pointer(7, 'meta.v1.Time', 'When the node took note of the pod, before it pulled images.'),
      initContainerStatuses: optional(10, 'ContainerStatus[]', 'State of the init containers, in the order of the spec.'),
      containerStatuses: optional(8, 'ContainerStatus[]', 'State of the containers.'),
      qosClass: optional(9, 'string', { enum: 'PodQOSClass' }, 'Quality of service that follows from the resources: `Guaranteed`, `Burstable` or `BestEffort`.'),
      ephemeralContainerStatuses: optional(13, 'ContainerStatus[]', 'State of the ephemeral containers.'),
    }),
    PodStatusResult: object('The status of a pod by itself.', {
      status: optional(2, 'PodStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
  },
  enums: {
    PodPhase: ['Failed', 'Pending', 'Running', 'Succeeded', 'Unknown'],
    PodQOSClass: ['BestEffort', 'Burstable', 'Guaranteed'],
  },
});
