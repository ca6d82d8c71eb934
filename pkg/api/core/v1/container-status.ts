import { defineTypes, message, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ContainerImage: message('An image that a node has.', {
      names: optional(1, 'string[]', { omitempty: false }, 'Names by which the image is known.'),
      sizeBytes: optional(2, 'int64', 'Size of the image in bytes.'),
    }),
    ContainerState: message('State of a container: exactly one member is set; none means waiting.', {
      waiting: pointer(1, 'ContainerStateWaiting', 'Set while the container does not run yet.'),
      running: pointer(2, 'ContainerStateRunning', 'Set while the container runs.'),
      terminated: pointer(3, 'ContainerStateTerminated', 'Set once the container has ended.'),
    }),
    ContainerStateRunning: message('A container that runs.', {
      startedAt: optional(1, 'meta.v1.Time', 'When the container was last started.'),
    }),
    ContainerStateTerminated: message('A container that has ended.', {
      exitCode: required(1, 'int32', 'Exit code of its main process.'),
      signal: optional(2, 'int32', 'Signal that ended it, if any.'),
      reason: optional(3, 'string', 'Why it ended, in one word, such as `Completed`, `Error` or `OOMKilled`.'),
      message: optional(4, 'string', 'Last words of the container, or details of its end.'),
      startedAt: optional(5, 'meta.v1.Time', 'When this run began.'),
      finishedAt: optional(6, 'meta.v1.Time', 'When this run ended.'),
      containerID: optional(7, 'string', 'Identity at the runtime, as `runtime://id`.'),
    }),
    ContainerStateWaiting: message('A container that does not run yet.', {
      reason: optional(1, 'string', 'Why it waits, in one word, such as `ImagePullBackOff`.'),
      message: optional(2, 'string', 'Details, for people.'),
    }),
    ContainerStatus: message('What the node last observed of one container.', {
      name: required(1, 'string', 'Name of the container in the spec.'),
      state: optional(2, 'ContainerState', 'What it is doing now.'),
      lastState: optional(3, 'ContainerState', 'How its previous run ended.'),
      ready: required(4, 'bool', 'Whether its readiness probe succeeds, or it runs and has none.'),
      restartCount: required(5, 'int32', 'How often it was restarted.'),
      image: required(6, 'string', 'Image it runs.'),
      imageID: required(7, 'string', 'Identity of the image, usually with its digest.'),
      containerID: optional(8, 'string', 'Identity at the runtime, as `runtime://id`.'),
      started: pointer(9, 'bool', 'Whether its startup probe has succeeded, or it runs and has none. False again after a restart.'),
    }),
  },
});
