/** `nodes/proxy`, `pods/proxy`, `services/proxy`: forward any HTTP request to a node agent, a pod or a Service. */
import { endpoints, pods, services } from '#api/core/v1/resources.gen.js';
import type { EndpointAddress, Service } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest, notFound, serviceUnavailable } from '#apimachinery/errors/status.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import { tokenSubprotocolPrefix } from '#apiserver/http/websocket.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ConnectEndpoint } from '#apiserver/resources/endpoints.js';
import { authority } from '#apiserver/service-routing/address.js';
import { proxyableAddress, proxyableHost, type ResolveName } from '#apiserver/streaming/allowed-addresses.js';
import { type Backend, forwardedFor, forwardedHeaders } from '#apiserver/streaming/backend.js';
import { bodyToPass, proxyRequest } from '#apiserver/streaming/http-proxy.js';
import type { NodeAgents } from '#apiserver/streaming/node-agents.js';
import { upgradeBackend } from '#apiserver/streaming/upgrade-backend.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import type { Dial } from '#http/client/dial.js';

export interface ProxyOptions {
  readonly dialect: Dialect;
  readonly reader: ObjectReader;
  readonly nodeAgents: NodeAgents;
  readonly resolve: ResolveName;
  /** Uniform in [0, 1): chooses among a Service's endpoints. */
  readonly random: () => number;
  readonly clock: Clock;
  /** Limit of each direction of a tunnel; absent or 0: none. */
  readonly bytesPerSecond?: number | undefined;
  /** Opens connections; absent: directly. */
  readonly dial?: Dial | undefined;
  /** Absent: nothing is traced. */
  readonly tracer?: Pick<Tracer, 'call'> | undefined;
}

type Locate = (context: RequestContext) => Promise<Backend>;

export function proxies(options: ProxyOptions): ConnectEndpoint[] {
  return [
    proxyEndpoint(options, 'nodes', ({ info }) => locateNode(options, info.name)),
    proxyEndpoint(options, 'pods', ({ info }) => locatePod(options, info.namespace, info.name)),
    proxyEndpoint(options, 'services', ({ info }) => locateService(options, info.namespace, info.name)),
  ];
}

function proxyEndpoint(
  { dialect, clock, dial, tracer, bytesPerSecond }: ProxyOptions,
  resource: string,
  find: Locate,
): ConnectEndpoint {
  const locate: Locate = async (context) => ({ ...(await find(context)), dial });
  return {
    group: 'core',
    resource,
    subresource: 'proxy',
    async connect(context): Promise<ApiResponse> {
      const { request, info, signal } = context;
      const { tail, search } = info;
      const backend = await locate(context);
      // A page's relative links need a path that ends with a slash.
      if (tail === '' && (request.method === 'GET' || request.method === 'HEAD'))
        return { status: 301, headers: { location: `${info.path}/${search}` }, body: undefined };
      const prefix = info.path.slice(0, info.path.length - tail.length).replace(/\/+$/, '');
      const headers = {
        ...forwardedHeaders(request.headers),
        'x-forwarded-for': forwardedFor(request),
        'x-forwarded-uri': prefix + tail,
      };
      return proxyRequest({
        links: { prefix, hosts: [authority(backend), request.headers['host'] ?? ''] },
        backend,
        method: request.method,
        path: (tail || '/') + search,
        headers,
        body: await bodyToPass(request),
        signal,
        tracer,
      });
    },
    async upgrade(context, { socket, head }) {
      const { request, info } = context;
      const backend = await locate(context);
      const tokenProtocolPrefix = tokenSubprotocolPrefix(dialect);
      return upgradeBackend({
        backend,
        request,
        path: (info.tail || '/') + info.search,
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

/** The address of a node. Other ports than the agent's belong to other servers, which do not get this server's credentials. */
async function locateNode({ nodeAgents, resolve }: ProxyOptions, text: string): Promise<Backend> {
  const { name, port, scheme } = splitTarget(text, 'node');
  const agent = await nodeAgents.backend(name);
  if (port === '' || Number(port) === agent.port) return agent;
  const where = await proxyableHost(agent.host, resolve);
  return { ...where, port: portNumber(port), ...tlsOf(scheme) };
}

async function locatePod({ reader }: ProxyOptions, namespace: string, text: string): Promise<Backend> {
  const { scheme, name, port } = splitTarget(text, 'pod');
  const pod = (await reader.get(pods, namespace, name)) ?? (await reader.get(pods, namespace, name, 'latest'));
  if (pod === undefined) throw notFound({ group: '', resource: 'pods' }, name);
  const declared = pod.spec.containers.flatMap((container) => container.ports ?? [])[0]?.containerPort;
  const where = proxyableAddress(pod.status?.podIP ?? '');
  return { ...where, port: port === '' ? (declared ?? 80) : portNumber(port), ...tlsOf(scheme) };
}

async function locateService(options: ProxyOptions, namespace: string, text: string): Promise<Backend> {
  const { reader, random } = options;
  const { scheme, name, port } = splitTarget(text, 'service');
  const service = await reader.get(services, namespace, name);
  if (service === undefined) throw notFound({ group: '', resource: 'services' }, name);
  const wantedPort = portName(service, port);
  const object = await reader.get(endpoints, namespace, name);
  if (object === undefined) throw notFound({ group: '', resource: 'services' }, name);
  const candidates = (object.subsets ?? []).flatMap(({ addresses = [], ports: open = [] }) =>
    open
      .filter((each) => (each.name ?? '') === wantedPort)
      .flatMap((each) => addresses.map((at) => ({ at, port: each.port }))),
  );
  const start = Math.floor(random() * candidates.length);
  for (const { at, port: number } of [...candidates.slice(start), ...candidates.slice(0, start)]) {
    if (await isOfPod(options, namespace, at)) return { ...proxyableAddress(at.ip), port: number, ...tlsOf(scheme) };
  }
  throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(text)}`);
}

/** Checks an address, since authors of Endpoints may enter any. Like 1.24, forward only to pods of the same namespace. */
async function isOfPod(
  { reader }: ProxyOptions,
  namespace: string,
  { ip, targetRef }: EndpointAddress,
): Promise<boolean> {
  if (targetRef?.name === undefined || targetRef.namespace !== namespace) return false;
  const { podIP, podIPs = [] } = (await reader.get(pods, namespace, targetRef.name))?.status ?? {};
  return ip === podIP || podIPs.some((each) => each.ip === ip);
}

/** The name of a Service's port, which may be given as a number. Throws 503 for an unknown number. */
function portName({ metadata, spec }: Service, port: string): string {
  const ports = spec?.ports ?? [];
  if (port === '') return ports.length === 1 ? (ports[0]?.name ?? '') : '';
  if (!/^[+-]?\d+$/.test(port)) return port;
  const match = ports.find((each) => each.port === Number(port));
  if (match !== undefined) return match.name ?? '';
  throw serviceUnavailable(`no service port ${Number(port)} found for service ${JSON.stringify(metadata.name ?? '')}`);
}

function portNumber(text: string): number {
  const port = /^\d+$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw badRequest(`invalid port ${JSON.stringify(text)}`);
  return port;
}

function tlsOf(scheme: string): Pick<Backend, 'tls'> {
  return scheme === 'https' ? { tls: {} } : {};
}

interface Target {
  readonly scheme: string;
  readonly name: string;
  readonly port: string;
}

const schemes: ReadonlySet<string> = new Set(['', 'http', 'https']);

/** `name`, `name:port`, `scheme:name:port`. Throws 400. */
function splitTarget(text: string, what: string): Target {
  const parts = text.split(':');
  const [scheme = '', name = '', port = ''] = parts.length === 3 ? parts : ['', ...parts];
  if (parts.length > 3 || name === '' || !schemes.has(scheme)) {
    throw badRequest(`invalid ${what} request ${JSON.stringify(text)}`);
  }
  return { scheme, name, port };
}
