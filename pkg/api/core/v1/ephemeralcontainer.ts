import { declaration as containers } from '#api/core/v1/container.js';
import { defineTypes, inlined, message, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    EphemeralContainer: message('A container added to a running pod to look into it. It is never restarted, has no guaranteed resources, and cannot be changed or removed. Added through the `ephemeralcontainers` subresource.', {
      '~ephemeralContainerCommon': inlined(1, 'EphemeralContainerCommon'),
      targetContainerName: optional(2, 'string', 'Container whose processes this one can see, where the runtime supports it. Without it, the namespaces of the pod apply.'),
    }),
    EphemeralContainerCommon: message('The settings that an ephemeral container shares with ordinary ones.', {
      ...containers.types.Container.fields,
      name: required(1, 'string', 'Name of the container, a DNS label that is unique among all containers of the pod.'),
      ports: optional(6, 'ContainerPort[]', { patchMergeKey: 'containerPort', listMapKeys: ['containerPort', 'protocol'], keepsEmpty: true }, 'Not allowed for ephemeral containers.'),
      resources: optional(8, 'ResourceRequirements', 'Not allowed for ephemeral containers; they use what the pod has to spare.'),
      volumeMounts: optional(9, 'VolumeMount[]', { patchMergeKey: 'mountPath' }, "Where the pod's volumes appear in the container's file system. `subPath` is not allowed."),
      livenessProbe: pointer(10, 'Probe', 'Not allowed for ephemeral containers.'),
      readinessProbe: pointer(11, 'Probe', { ungated: ['ProbeTerminationGracePeriod'] }, 'Not allowed for ephemeral containers.'),
      startupProbe: pointer(22, 'Probe', 'Not allowed for ephemeral containers.'),
      lifecycle: pointer(12, 'Lifecycle', 'Not allowed for ephemeral containers.'),
    }),
  },
});
