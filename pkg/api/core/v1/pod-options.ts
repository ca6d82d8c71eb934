import { bareKind, defineTypes, message, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    PodAttachOptions: message('Options of attaching to a container.', {
      stdin: optional(1, 'bool', 'Sends standard input. Default false.'),
      stdout: optional(2, 'bool', 'Receives standard output. Default true.'),
      stderr: optional(3, 'bool', 'Receives standard error. Default true.'),
      tty: optional(4, 'bool', 'Treats the streams as a terminal; standard error is then part of standard output. Default false.'),
      container: optional(5, 'string', 'Container to attach to. Default: the only one.'),
    }),
    PodExecOptions: message('Options of running a command in a container.', {
      stdin: optional(1, 'bool', 'Sends standard input. Default false.'),
      stdout: optional(2, 'bool', 'Receives standard output. Default true.'),
      stderr: optional(3, 'bool', 'Receives standard error. Default true.'),
      tty: optional(4, 'bool', 'Treats the streams as a terminal; standard error is then part of standard output. Default false.'),
      container: optional(5, 'string', 'Container to run in. Default: the only one.'),
      command: required(6, 'string[]', 'Program and arguments; no shell is involved.'),
    }),
    PodLogOptions: bareKind('Options of reading the log of a container.', {
      container: optional(1, 'string', 'Container to read the log of. Default: the only one.'),
      follow: optional(2, 'bool', 'Goes on as the log grows. Default false.'),
      previous: optional(3, 'bool', 'Reads the log of the run before the last restart. Default false.'),
      sinceSeconds: pointer(4, 'int64', 'Reads only what was written in the last so many seconds. Not together with `sinceTime`.'),
      sinceTime: pointer(5, 'meta.v1.Time', 'Reads only what was written from this time on.'),
      timestamps: optional(6, 'bool', 'Puts the time in RFC 3339 in front of each line. Default false.'),
      tailLines: pointer(7, 'int64', 'Reads only so many lines from the end. Default: all.'),
      limitBytes: pointer(8, 'int64', 'Stops after so many bytes, possibly within a line. Default: no limit.'),
      insecureSkipTLSVerifyBackend: optional(9, 'bool', 'Does not verify the certificate of the node, which then may not be the one that was asked. Default false.'),
    }),
    PodPortForwardOptions: message('Options of forwarding ports to a pod.', {
      ports: optional(1, 'int32[]', 'Ports of the pod. Required for streams over WebSocket.'),
    }),
    PodProxyOptions: message('Options of a request that is passed on to a pod.', {
      path: optional(1, 'string', 'Path to ask the pod for.'),
    }),
  },
});
