import { defineTypes, message, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Container: message('One container of a pod: what to run, with which resources, and how to watch over it.', {
      name: required(1, 'string', 'Name of the container, a DNS label that is unique among all containers of the pod. Cannot be changed.'),
      image: optional(2, 'string', 'Image to run, as `registry/repository:tag` or with `@digest`. Workload templates may leave it out where something else fills it in.'),
      command: optional(3, 'string[]', "Program and leading arguments; replaces the image's entrypoint. `$(NAME)` is replaced by that environment variable, `$$(NAME)` stands for the text `$(NAME)`. No shell is involved."),
      args: optional(4, 'string[]', "Arguments of the program; replaces the image's default arguments. References are replaced as in `command`."),
      workingDir: optional(5, 'string', "Directory that the program starts in. Default: the image's."),
      ports: optional(6, 'ContainerPort[]', { patchMergeKey: 'containerPort', listMapKeys: ['containerPort', 'protocol'] }, 'Ports that the container listens on. Informative, except for names that services and probes refer to, and for host ports; a port that is not listed can still be reached.'),
      envFrom: optional(19, 'EnvFromSource[]', 'ConfigMaps and Secrets whose keys become environment variables. Later sources win over earlier ones, and `env` over all of them. Keys that are not valid names are skipped, with an event.'),
      env: optional(7, 'EnvVar[]', { patchMergeKey: 'name' }, 'Environment variables, in order; a value may refer to those before it.'),
      resources: optional(8, 'ResourceRequirements', 'CPU, memory and other resources that the container needs, and those it may not exceed.'),
      volumeMounts: optional(9, 'VolumeMount[]', { patchMergeKey: 'mountPath' }, "Where the pod's volumes appear in the container's file system."),
      volumeDevices: optional(21, 'VolumeDevice[]', { patchMergeKey: 'devicePath' }, 'Where block volumes appear as devices in the container.'),
      livenessProbe: pointer(10, 'Probe', 'Checks whether the container still works. It is restarted when the check fails often enough.'),
      readinessProbe: pointer(11, 'Probe', { ungated: ['ProbeTerminationGracePeriod'] }, 'Checks whether the container can serve. The pod leaves its services while the check fails.'),
      startupProbe: pointer(22, 'Probe', 'Checks whether the container has started. The other probes wait until it succeeds once; the container is restarted when it fails often enough.'),
      lifecycle: pointer(12, 'Lifecycle', 'Actions right after the start and right before the stop of the container.'),
      terminationMessagePath: optional(13, 'string', { default: '/dev/termination-log' }, 'File in the container that holds its last words: what it writes there shows in its status when it ends, 4096 bytes at most.'),
      terminationMessagePolicy: optional(20, 'string', { default: 'File', enum: 'TerminationMessagePolicy' }, '`File` reads the termination message from its file only. `FallbackToLogsOnError` takes the end of the log when that file is empty and the container failed (80 lines or 2048 bytes at most).'),
      imagePullPolicy: optional(14, 'string', { enum: 'PullPolicy' }, '`Always` asks the registry at each start, `IfNotPresent` only where the node lacks the image, `Never` never. Default `Always` for the tag `latest` or none, otherwise `IfNotPresent`.'),
      securityContext: pointer(15, 'SecurityContext', "Security settings of this container. They win over the pod's where both are set."),
      stdin: optional(16, 'bool', 'Keeps a buffer for standard input open, so that clients can attach to it. Reads meet end of file otherwise. Default false.'),
      stdinOnce: optional(17, 'bool', 'Closes standard input once the first attached client leaves; it stays closed until the container restarts. Default false: it stays open across clients.'),
      tty: optional(18, 'bool', 'Gives the container a terminal; needs `stdin`. Default false.'),
    }),
    ContainerPort: message('A port that a container listens on.', {
      name: optional(1, 'string', 'Name that services and probes can use instead of the number. At most 15 lower case letters, digits and `-`; unique in the pod.'),
      hostPort: optional(2, 'int32', { minimum: 1, maximum: 65535 }, 'Port of the node that leads here, 1 to 65535. With `hostNetwork` it must equal `containerPort`. Limits the pod to nodes where the port is free.'),
      containerPort: required(3, 'int32', { minimum: 1, maximum: 65535 }, "Port on the pod's address, 1 to 65535."),
      protocol: optional(4, 'string', { default: 'TCP', defaultInSchema: true, enum: 'Protocol' }, '`TCP`, `UDP` or `SCTP`. Default `TCP`.'),
      hostIP: optional(5, 'string', 'Address of the node to bind the host port to. Default: all addresses.'),
    }),
    ResourceRequirements: message('Resources that something needs and may use at most, by resource name.', {
      limits: optional(1, 'map<string, resource.Quantity>', 'Most that may be used. Memory beyond the limit ends the container, CPU beyond it is throttled.'),
      requests: optional(2, 'map<string, resource.Quantity>', 'Amount set aside, by which a node is chosen. At most the limit. Default: the limit where one is set, otherwise nothing.'),
    }),
    VolumeDevice: message('A block volume inside a container.', {
      name: required(1, 'string', 'Name of a volume of the pod that is a claim in block mode.'),
      devicePath: required(2, 'string', 'Path at which the device appears in the container.'),
    }),
    VolumeMount: message('A volume in the file system of a container.', {
      name: required(1, 'string', "Name of one of the pod's volumes."),
      readOnly: optional(2, 'bool', 'Mounts the volume read-only. Default false.'),
      mountPath: required(3, 'string', 'Path in the container at which the volume appears. No colons.'),
      subPath: optional(4, 'string', 'Path inside the volume to mount instead of its root; relative and without `..`.'),
      mountPropagation: pointer(5, 'string', { enum: 'MountPropagationMode' }, 'Whether mounts pass between node and container: `None`; `HostToContainer`, from the node inwards; `Bidirectional`, both ways and for privileged containers only. Default `None`.'),
      subPathExpr: optional(6, 'string', { excludes: ['subPath'] }, "As `subPath`, with `$(NAME)` replaced by the container's environment variables."),
    }),
  },
  enums: {
    MountPropagationMode: ['Bidirectional', 'HostToContainer', 'None'],
    Protocol: ['SCTP', 'TCP', 'UDP'],
    PullPolicy: ['Always', 'IfNotPresent', 'Never'],
    TerminationMessagePolicy: ['FallbackToLogsOnError', 'File'],
  },
});
