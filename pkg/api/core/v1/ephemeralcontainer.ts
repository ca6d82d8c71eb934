import { defineTypes, inlined, message, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    EphemeralContainer: message('A container added to a running pod to look into it. It is never restarted, has no guaranteed resources, and cannot be changed or removed. Added through the `ephemeralcontainers` subresource.', {
      '~ephemeralContainerCommon': inlined(1, 'EphemeralContainerCommon'),
      targetContainerName: optional(2, 'string', 'Container whose processes this one can see, where the runtime supports it. Without it, the namespaces of the pod apply.'),
    }),
    EphemeralContainerCommon: message('The settings that an ephemeral container shares with ordinary ones.', {
      name: required(1, 'string', 'Name of the container, a DNS label that is unique among all containers of the pod.'),
      image: optional(2, 'string', 'Image to run, as `registry/repository:tag` or with `@digest`. Workload templates may leave it out where something else fills it in.'),
      command: optional(3, 'string[]', "Program and leading arguments; replaces the image's entrypoint. `$(NAME)` is replaced by that environment variable, `$$(NAME)` stands for the text `$(NAME)`. No shell is involved."),
      args: optional(4, 'string[]', "Arguments of the program; replaces the image's default arguments. References are replaced as in `command`."),
      workingDir: optional(5, 'string', "Directory that the program starts in. Default: the image's."),
      ports: optional(6, 'ContainerPort[]', { patchMergeKey: 'containerPort', listMapKeys: ['containerPort', 'protocol'] }, 'Not allowed for ephemeral containers.'),
      envFrom: optional(19, 'EnvFromSource[]', 'ConfigMaps and Secrets whose keys become environment variables. Later sources win over earlier ones, and `env` over all of them. Keys that are not valid names are skipped, with an event.'),
      env: optional(7, 'EnvVar[]', { patchMergeKey: 'name' }, 'Environment variables, in order; a value may refer to those before it.'),
      resources: optional(8, 'ResourceRequirements', 'Not allowed for ephemeral containers; they use what the pod has to spare.'),
      volumeMounts: optional(9, 'VolumeMount[]', { patchMergeKey: 'mountPath' }, "Where the pod's volumes appear in the container's file system. `subPath` is not allowed."),
      volumeDevices: optional(21, 'VolumeDevice[]', { patchMergeKey: 'devicePath' }, 'Where block volumes appear as devices in the container.'),
      livenessProbe: pointer(10, 'Probe', 'Not allowed for ephemeral containers.'),
      readinessProbe: pointer(11, 'Probe', { ungated: ['ProbeTerminationGracePeriod'] }, 'Not allowed for ephemeral containers.'),
      startupProbe: pointer(22, 'Probe', 'Not allowed for ephemeral containers.'),
      lifecycle: pointer(12, 'Lifecycle', 'Not allowed for ephemeral containers.'),
      terminationMessagePath: optional(13, 'string', 'File in the container that holds its last words: what it writes there shows in its status when it ends, 4096 bytes at most. Default `/dev/termination-log`.'),
      terminationMessagePolicy: optional(20, 'string', { enum: 'TerminationMessagePolicy' }, '`File` reads the termination message from its file only. `FallbackToLogsOnError` takes the end of the log when that file is empty and the container failed (80 lines or 2048 bytes at most). Default `File`.'),
      imagePullPolicy: optional(14, 'string', { enum: 'PullPolicy' }, '`Always` asks the registry at each start, `IfNotPresent` only where the node lacks the image, `Never` never. Default `Always` for the tag `latest` or none, otherwise `IfNotPresent`.'),
      securityContext: pointer(15, 'SecurityContext', "Security settings of this container. They win over the pod's where both are set."),
      stdin: optional(16, 'bool', 'Keeps a buffer for standard input open, so that clients can attach to it. Reads meet end of file otherwise. Default false.'),
      stdinOnce: optional(17, 'bool', 'Closes standard input once the first attached client leaves; it stays closed until the container restarts. Default false: it stays open across clients.'),
      tty: optional(18, 'bool', 'Gives the container a terminal; needs `stdin`. Default false.'),
    }),
  },
});
