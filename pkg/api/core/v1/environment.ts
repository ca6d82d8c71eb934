import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ConfigMapEnvSource: {
      '~localObjectReference': {
        number: 1,
        type: 'LocalObjectReference',
        inline: true,
        protoName: 'localObjectReference',
      },
      optional: {
        number: 2,
        type: 'bool',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Lets the container start without the ConfigMap. Default false.',
      },
    },
    EnvFromSource: {
      prefix: {
        number: 1,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: "Put in front of each key. Must begin as a variable's name does.",
      },
      configMapRef: {
        number: 2,
        type: 'ConfigMapEnvSource',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'The ConfigMap to read.',
      },
      secretRef: {
        number: 3,
        type: 'SecretEnvSource',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'The Secret to read.',
      },
    },
    EnvVar: {
      name: {
        number: 1,
        type: 'string',
        doc: 'Name of the variable: letters, digits, `_`, `-` and `.`, not beginning with a digit.',
      },
      value: {
        number: 2,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Value of the variable. `$(NAME)` is replaced by a variable defined before, or stays when there is none; `$$(NAME)` stands for the text `$(NAME)`. Default empty.',
      },
      valueFrom: {
        number: 3,
        type: 'EnvVarSource',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Takes the value from elsewhere. Only without `value`.',
      },
    },
    EnvVarSource: {
      fieldRef: {
        number: 1,
        type: 'ObjectFieldSelector',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: "A field of the pod: `metadata.name`, `metadata.namespace`, `metadata.uid`, `metadata.labels['<key>']`, `metadata.annotations['<key>']`, `spec.nodeName`, `spec.serviceAccountName`, `status.hostIP`, `status.podIP` or `status.podIPs`.",
      },
      resourceFieldRef: {
        number: 2,
        type: 'ResourceFieldSelector',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'A resource limit or request of a container: CPU, memory, ephemeral storage or huge pages.',
      },
      configMapKeyRef: {
        number: 3,
        type: 'ConfigMapKeySelector',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'One key of a ConfigMap.',
      },
      secretKeyRef: {
        number: 4,
        type: 'SecretKeySelector',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'One key of a Secret.',
      },
    },
    SecretEnvSource: {
      '~localObjectReference': {
        number: 1,
        type: 'LocalObjectReference',
        inline: true,
        protoName: 'localObjectReference',
      },
      optional: {
        number: 2,
        type: 'bool',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Lets the container start without the Secret. Default false.',
      },
    },
  },
  docs: {
    ConfigMapEnvSource: 'Makes an environment variable of every key of a ConfigMap.',
    EnvFromSource: 'Makes environment variables of all keys of a ConfigMap or of a Secret.',
    EnvVar: 'One environment variable of a container.',
    EnvVarSource: 'Where the value of an environment variable comes from. Exactly one member is set.',
    SecretEnvSource: 'Makes an environment variable of every key of a Secret.',
  },
};
