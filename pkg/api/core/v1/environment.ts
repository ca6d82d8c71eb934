import { defineTypes, inlined, message, optional, partialUnion, pointer, required, union } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ConfigMapEnvSource: message('Makes an environment variable of every key of a ConfigMap.', {
      '~localObjectReference': inlined(1, 'LocalObjectReference'),
      optional: pointer(2, 'bool', 'Lets the container start without the ConfigMap. Default false.'),
    }),
    EnvFromSource: partialUnion('Makes environment variables of all keys of a ConfigMap or of a Secret.', ['configMapRef', 'secretRef'], {
      prefix: optional(1, 'string', "Put in front of each key. Must begin as a variable's name does."),
      configMapRef: pointer(2, 'ConfigMapEnvSource', 'The ConfigMap to read.'),
      secretRef: pointer(3, 'SecretEnvSource', 'The Secret to read.'),
    }),
    EnvVar: message('One environment variable of a container.', {
      name: required(1, 'string', 'Name of the variable: letters, digits, `_`, `-` and `.`, not beginning with a digit.'),
      value: optional(2, 'string', 'Value of the variable. `$(NAME)` is replaced by a variable defined before, or stays when there is none; `$$(NAME)` stands for the text `$(NAME)`. Default empty.'),
      valueFrom: pointer(3, 'EnvVarSource', 'Takes the value from elsewhere. Only without `value`.'),
    }),
    EnvVarSource: union('Where the value of an environment variable comes from.', {
      fieldRef: pointer(1, 'ObjectFieldSelector', "A field of the pod: `metadata.name`, `metadata.namespace`, `metadata.uid`, `metadata.labels['<key>']`, `metadata.annotations['<key>']`, `spec.nodeName`, `spec.serviceAccountName`, `status.hostIP`, `status.podIP` or `status.podIPs`."),
      resourceFieldRef: pointer(2, 'ResourceFieldSelector', 'A resource limit or request of a container: CPU, memory, ephemeral storage or huge pages.'),
      configMapKeyRef: pointer(3, 'ConfigMapKeySelector', 'One key of a ConfigMap.'),
      secretKeyRef: pointer(4, 'SecretKeySelector', 'One key of a Secret.'),
    }),
    SecretEnvSource: message('Makes an environment variable of every key of a Secret.', {
      '~localObjectReference': inlined(1, 'LocalObjectReference'),
      optional: pointer(2, 'bool', 'Lets the container start without the Secret. Default false.'),
    }),
  },
});
