import { defineTypes, inlined, message, optional, pointer, required, union } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ExecAction: message('Runs a command in the container.', {
      command: optional(1, 'string[]', "Program and arguments, started in the container's root directory without a shell. Exit code 0 means success."),
    }),
    GRPCAction: message('Calls the standard gRPC health service.', {
      port: required(1, 'int32', { minimum: 1, maximum: 65535 }, 'Port of the gRPC service, 1 to 65535.'),
      service: pointer(2, 'string', { default: '', defaultInSchema: true, omitempty: false }, 'Name of the service to ask about. Default empty: the server as a whole.'),
    }),
    HTTPGetAction: message('Sends an HTTP GET request. Codes from 200 to 399 mean success.', {
      path: optional(1, 'string', { default: '/' }, 'Path to ask for.'),
      port: required(2, 'intstr.IntOrString', "Number from 1 to 65535, or the name of one of the container's ports."),
      host: optional(3, 'string', "Host to connect to. Default: the pod's address. For another virtual host set a `Host` header instead."),
      scheme: optional(4, 'string', { default: 'HTTP', enum: 'URIScheme' }, '`HTTP` or `HTTPS`; certificates are not verified.'),
      httpHeaders: optional(5, 'HTTPHeader[]', 'Headers to send along; the same name may occur more than once.'),
    }),
    HTTPHeader: message('One header of an HTTP request.', {
      name: required(1, 'string', 'Name of the header.'),
      value: required(2, 'string', 'Value of the header.'),
    }),
    Lifecycle: message("Actions at the turning points of a container's life.", {
      postStart: pointer(1, 'LifecycleHandler', 'Runs right after the container was created, alongside its main process. When it fails, the container is stopped and restarted by its policy.'),
      preStop: pointer(2, 'LifecycleHandler', 'Runs before the container is stopped on request or after a failed probe, not when it ends by itself. Its time counts against the grace period; the stop signal follows it.'),
    }),
    LifecycleHandler: union('What to do at a turning point.', {
      exec: pointer(1, 'ExecAction', 'Runs a command in the container.'),
      httpGet: pointer(2, 'HTTPGetAction', 'Sends an HTTP GET request.'),
      tcpSocket: pointer(3, 'TCPSocketAction', 'Kept for compatibility; has no effect and fails at run time.'),
    }),
    Probe: message('A check of a container that is repeated for as long as it runs.', {
      '~handler': inlined(1, 'ProbeHandler'),
      initialDelaySeconds: optional(2, 'int32', { minimum: 0 }, "Seconds to wait after the container's start before the first check. Default 0."),
      timeoutSeconds: optional(3, 'int32', { minimum: 0, default: 1 }, 'Seconds after which a check counts as failed. Default 1, minimum 1.'),
      periodSeconds: optional(4, 'int32', { minimum: 0, default: 10 }, 'Seconds from one check to the next. Default 10, minimum 1.'),
      successThreshold: optional(5, 'int32', { minimum: 0, default: 1 }, 'Successes in a row that turn a failing probe around. Default 1, which is the only value for liveness and startup.'),
      failureThreshold: optional(6, 'int32', { minimum: 0, default: 3 }, 'Failures in a row that count as a failure of the probe. Default 3, minimum 1.'),
      terminationGracePeriodSeconds: pointer(7, 'int64', { minimum: 1, featureGate: 'ProbeTerminationGracePeriod' }, "Seconds that the container gets to stop when this probe fails, instead of the pod's grace period. Minimum 1. Not for readiness."),
    }),
    ProbeHandler: union('How a probe looks at the container.', {
      exec: pointer(1, 'ExecAction', 'Runs a command in the container.'),
      httpGet: pointer(2, 'HTTPGetAction', 'Sends an HTTP GET request to the container.'),
      tcpSocket: pointer(3, 'TCPSocketAction', 'Opens a TCP connection to the container.'),
      grpc: pointer(4, 'GRPCAction', { featureGate: 'GRPCContainerProbe' }, 'Calls the gRPC health service of the container.'),
    }),
    TCPSocketAction: message('Opens a TCP connection and closes it again.', {
      port: required(1, 'intstr.IntOrString', "Number from 1 to 65535, or the name of one of the container's ports."),
      host: optional(2, 'string', "Host to connect to. Default: the pod's address."),
    }),
  },
  enums: {
    URIScheme: ['HTTP', 'HTTPS'],
  },
});
