import { condition, defineTypes, message, object, optional, pointer, required, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    AttachedVolume: message('A volume that is attached to a node.', {
      name: required(1, 'string', 'Unique name of the volume.'),
      devicePath: required(2, 'string', 'Device on the node through which the volume is reached.'),
    }),
    ConfigMapNodeConfigSource: message('A ConfigMap with settings of the node agent. No longer supported.', {
      namespace: required(1, 'string', 'Namespace of the ConfigMap.'),
      name: required(2, 'string', 'Name of the ConfigMap.'),
      uid: optional(3, 'string', 'Identity of the ConfigMap. Not in a spec.'),
      resourceVersion: optional(4, 'string', 'Version of the ConfigMap. Not in a spec.'),
      kubeletConfigKey: required(5, 'string', 'Key of the ConfigMap that holds the settings.'),
    }),
    DaemonEndpoint: message('A port of a daemon.', {
      Port: required(1, 'int32', 'Number of the port.'),
    }),
    Node: object('A machine that runs pods.', {
      spec: optional(2, 'NodeSpec', 'What the object is meant to be.'),
      status: optional(3, 'NodeStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    NodeAddress: message('An address at which a node is reached.', {
      type: required(1, 'string', { enum: 'NodeAddressType' }, '`Hostname`, `InternalIP`, `ExternalIP`, `InternalDNS` or `ExternalDNS`.'),
      address: required(2, 'string', 'The address.'),
    }),
    NodeCondition: condition(
      "One aspect of a node's state.",
      { type: { enum: 'NodeConditionType' }, status: { enum: 'ConditionStatus' } },
      {
        lastHeartbeatTime: optional(3, 'meta.v1.Time', 'When the condition was last reported.'),
      },
    ),
    NodeConfigSource: message('Where settings of the node agent come from. No longer supported. Exactly one member is set.', {
      configMap: pointer(2, 'ConfigMapNodeConfigSource', 'A ConfigMap that holds the settings.'),
    }),
    NodeConfigStatus: message('What became of the settings of the node agent. No longer supported.', {
      assigned: pointer(1, 'NodeConfigSource', 'Settings that the node agent is to use.'),
      active: pointer(2, 'NodeConfigSource', 'Settings in use.'),
      lastKnownGood: pointer(3, 'NodeConfigSource', 'Settings to fall back to.'),
      error: optional(4, 'string', 'What is wrong with the assigned settings.'),
    }),
    NodeDaemonEndpoints: message('Ports of the daemons of a node.', {
      kubeletEndpoint: optional(1, 'DaemonEndpoint', 'Where the node agent listens.'),
    }),
    NodeProxyOptions: message('Options of a request that is passed on to a node.', {
      path: optional(1, 'string', 'Path to ask the node for.'),
    }),
    NodeResources: message('Resources of a node.', {
      '~capacity': required(1, 'map<string, resource.Quantity>'),
    }),
    NodeSpec: message('What a node is meant to be.', {
      podCIDR: optional(1, 'string', "Address range for the node's pods. The first entry of `podCIDRs`."),
      podCIDRs: optional(7, 'string[]', { patchStrategy: 'merge' }, "Address ranges for the node's pods, at most one of each address family. Cannot be changed once set."),
      providerID: optional(3, 'string', 'Identity of the machine at its cloud provider, as `provider://id`. Cannot be changed once set.'),
      unschedulable: optional(4, 'bool', 'Keeps new pods away from the node (cordoned). Default false.'),
      taints: optional(5, 'Taint[]', 'Marks that keep pods away unless they tolerate them.'),
      configSource: pointer(6, 'NodeConfigSource', 'No longer supported; has no effect.'),
      externalID: optional(2, 'string', 'No longer used.'),
    }),
    NodeStatus: message('What a node last reported.', {
      capacity: optional(1, 'map<string, resource.Quantity>', 'All resources of the machine.'),
      allocatable: optional(2, 'map<string, resource.Quantity>', 'What pods may use of the resources. Default: the capacity.'),
      phase: optional(3, 'string', { enum: 'NodePhase' }, 'No longer used.'),
      conditions: optional(4, 'NodeCondition[]', { patchMergeKey: 'type' }, 'State of the node: `Ready`, pressure on memory, disk and processes, network.'),
      addresses: optional(5, 'NodeAddress[]', { patchMergeKey: 'type' }, 'Addresses at which the node is reached.'),
      daemonEndpoints: optional(6, 'NodeDaemonEndpoints', "Ports of the node's daemons."),
      nodeInfo: optional(7, 'NodeSystemInfo', 'Identity and versions of the machine and its software.'),
      images: optional(8, 'ContainerImage[]', 'Images on the node, the largest first; possibly not all.'),
      volumesInUse: optional(9, 'string[]', 'Attachable volumes that pods on the node use.'),
      volumesAttached: optional(10, 'AttachedVolume[]', 'Volumes that are attached to the node.'),
      config: pointer(11, 'NodeConfigStatus', 'No longer used.'),
    }),
    NodeSystemInfo: message('Identity and versions of a node.', {
      machineID: required(1, 'string', 'Identity of the installed operating system, from `/etc/machine-id`.'),
      systemUUID: required(2, 'string', 'Identity of the machine.'),
      bootID: required(3, 'string', 'Identity of the current boot.'),
      kernelVersion: required(4, 'string', 'Version of the kernel.'),
      osImage: required(5, 'string', 'Name of the operating system.'),
      containerRuntimeVersion: required(6, 'string', 'Container runtime, as `name://version`.'),
      kubeletVersion: required(7, 'string', 'Version of the node agent.'),
      kubeProxyVersion: required(8, 'string', 'Version of the service proxy.'),
      operatingSystem: required(9, 'string', '`linux` or `windows`.'),
      architecture: required(10, 'string', 'Instruction set, such as `amd64` or `arm64`.'),
    }),
  },
  enums: {
    ConditionStatus: ['False', 'True', 'Unknown'],
    NodeAddressType: ['ExternalDNS', 'ExternalIP', 'Hostname', 'InternalDNS', 'InternalIP'],
    NodeConditionType: ['DiskPressure', 'MemoryPressure', 'NetworkUnavailable', 'PIDPressure', 'Ready'],
    NodePhase: ['Pending', 'Running', 'Terminated'],
  },
  resources: [
    {
      resource: 'nodes',
      kind: 'Node',
      namespaced: false,
      shortNames: ['no'],
      subresources: [{ name: 'proxy', kind: 'NodeProxyOptions', verbs: ['create', 'delete', 'get', 'patch', 'update'] }, 'status'],
      columns: ['Name', 'Status', 'Roles', 'Age', 'Version', ...wide('Internal-IP', 'External-IP', 'OS-Image', 'Kernel-Version', 'Container-Runtime')],
    },
  ],
});
