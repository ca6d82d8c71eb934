/** `pods/exec`, `pods/attach`, `pods/portforward`: tunnels to the node agent. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import { flag } from '#apiserver/http/request-info.js';
import { tokenSubprotocolPrefix } from '#apiserver/http/websocket.js';
import type { ConnectEndpoint } from '#apiserver/resources/endpoints.js';
import type { PodStreamOptions } from '#apiserver/streaming/pod-log.js';
import { chooseContainer, findPod, nodeOfPod } from '#apiserver/streaming/pod-target.js';
import { upgradeBackend } from '#apiserver/streaming/upgrade-backend.js';

export interface PodConnectOptions extends PodStreamOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Limit of each direction of a tunnel; absent or 0: none. */
  readonly bytesPerSecond?: number | undefined;
}

/** Path and query at the node agent. */
type AgentPath = (context: RequestContext, container: () => string) => string;

const encode = encodeURIComponent;

export function podConnects(options: PodConnectOptions): ConnectEndpoint[] {
  return [
    connectEndpoint(options, 'exec', (context, container) => {
      const { info } = context;
      if (info.query.getAll('command').length === 0)
        throw badRequest('you must specify at least 1 command for the container');
      return `/exec/${encode(info.namespace)}/${encode(info.name)}/${encode(container())}${streamQuery(info.query)}`;
    }),
    connectEndpoint(options, 'attach', ({ info }, container) => {
      return `/attach/${encode(info.namespace)}/${encode(info.name)}/${encode(container())}${streamQuery(info.query)}`;
    }),
    connectEndpoint(options, 'portforward', ({ info }) => {
      const ports = info.query.getAll('ports').flatMap((text) => text.split(','));
      const bad = ports.find((port) => !(Number(port) >= 1 && Number(port) <= 65_535));
      if (bad !== undefined) throw badRequest(`${JSON.stringify(bad)} is no port`);
      const query = new URLSearchParams(ports.map((port): [string, string] => ['port', port]));
      const text = query.toString();
      return `/portForward/${encode(info.namespace)}/${encode(info.name)}${text === '' ? '' : `?${text}`}`;
    }),
  ];
}

function connectEndpoint(
  { reader, nodeAgents, dialect, clock, bytesPerSecond }: PodConnectOptions,
  subresource: string,
  agentPath: AgentPath,
): ConnectEndpoint {
  const containerOf =
    (pod: Pod, { info }: RequestContext) =>
    () =>
      chooseContainer(pod, info.query.get('container') ?? '');
  return {
    group: 'core',
    resource: 'pods',
    subresource,
    // Report other errors of the request first.
    async connect(context) {
      const pod = await findPod(reader, context.info.namespace, context.info.name);
      if (subresource !== 'portforward') containerOf(pod, context)();
      await nodeAgents.backend(nodeOfPod(pod));
      throw badRequest('Upgrade request required');
    },
    async upgrade(context, { socket, head }) {
      const { info, request } = context;
      const pod = await findPod(reader, info.namespace, info.name);
      const path = agentPath(context, containerOf(pod, context));
      const backend = await nodeAgents.backend(nodeOfPod(pod));
      const tokenProtocolPrefix = tokenSubprotocolPrefix(dialect);
      return upgradeBackend({
        backend,
        request,
        path,
        tokenProtocolPrefix,
        socket,
        head,
        signal: request.signal,
        clock,
        bytesPerSecond,
      });
    },
  };
}

/** The query with the node agent's names of the streams. Throws 400 without any stream. */
function streamQuery(query: URLSearchParams): string {
  const out = new URLSearchParams();
  const [stdin, stdout, stderr, tty] = ['stdin', 'stdout', 'stderr', 'tty'].map((name) => flag(query, name));
  // A terminal merges stdout and stderr.
  const errors = stderr === true && tty !== true;
  if (stdin !== true && stdout !== true && !errors)
    throw badRequest('you must specify at least 1 of stdin, stdout, stderr');
  if (stdin === true) out.set('input', '1');
  if (stdout === true) out.set('output', '1');
  if (errors) out.set('error', '1');
  if (tty === true) out.set('tty', '1');
  for (const word of query.getAll('command')) out.append('command', word);
  return `?${out.toString()}`;
}
