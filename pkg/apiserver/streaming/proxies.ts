/** `nodes/proxy`, `pods/proxy`, `services/proxy`: any HTTP request, passed on to a node agent, a pod or a Service. */
import { isIPv4 } from 'node:net';
import { endpoints, pods, services } from '#api/core/v1/resources.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest, notFound, serviceUnavailable } from '#apimachinery/errors/status.js';
import { tokenSubprotocolPrefix } from '#apiserver/authentication/bearer-token.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ConnectEndpoint } from '#apiserver/registry/endpoints.js';
import { type Backend, forwardedHeaders } from '#apiserver/streaming/backend.js';
import { proxyRequest } from '#apiserver/streaming/http-proxy.js';
import type { NodeAgents } from '#apiserver/streaming/node-agents.js';
import { openTunnel } from '#apiserver/streaming/tunnel.js';

export interface ProxyOptions {
  readonly dialect: Dialect;
  readonly reader: ObjectReader;
  readonly nodeAgents: NodeAgents;
  /** Uniform in [0, 1): chooses among a Service's endpoints. */
  readonly random: () => number;
}

type Locate = (context: RequestContext) => Promise<Backend>;

export function proxies(options: ProxyOptions): ConnectEndpoint[] {
  return [
    proxyEndpoint(options, 'nodes', ({ info }) => locateNode(options, info.name)),
    proxyEndpoint(options, 'pods', ({ info }) => locatePod(options, info.namespace, info.name)),
    proxyEndpoint(options, 'services', ({ info }) => locateService(options, info.namespace, info.name)),
  ];
}

function proxyEndpoint({ dialect }: ProxyOptions, resource: string, locate: Locate): ConnectEndpoint {
  return {
    group: 'core',
    resource,
    subresource: 'proxy',
    async connect(context): Promise<ApiResponse> {
      const { request, signal } = context;
      const { path, query } = targetPath(request.url, resource);
      // Relative links of a page work only below a path that ends with a slash.
      if (path === '' && (request.method === 'GET' || request.method === 'HEAD'))
        return { status: 301, headers: { location: `${request.url.split('?')[0]}/${query}` }, body: undefined };
      const backend = await locate(context);
      const headers = { ...forwardedHeaders(request.headers), 'x-forwarded-for': request.remoteAddress };
      const target = path === '' ? '/' : path;
      return proxyRequest({
        backend,
        method: request.method,
        path: target + query,
        headers,
        body: request.body,
        signal,
      });
    },
    async upgrade(context, socket, head) {
      const { request } = context;
      const { path, query } = targetPath(request.url, resource);
      const backend = await locate(context);
      const tokenProtocolPrefix = tokenSubprotocolPrefix(dialect);
      const target = (path === '' ? '/' : path) + query;
      await openTunnel({ backend, request, path: target, tokenProtocolPrefix, socket, head, signal: request.signal });
    },
  };
}

/** What stands behind `…/<resource>/<name>/proxy`, still encoded; the query begins with its question mark. */
function targetPath(url: string, resource: string): { readonly path: string; readonly query: string } {
  const mark = url.indexOf('?');
  const whole = mark < 0 ? url : url.slice(0, mark);
  const match = new RegExp(`/${resource}/[^/]+/proxy(/.*)?$`).exec(whole);
  return { path: match?.[1] ?? '', query: mark < 0 ? '' : url.slice(mark) };
}

interface Target {
  readonly scheme: string;
  readonly name: string;
  readonly port: string;
}

/** `name`, `name:port`, `scheme:name:port`. */
function splitTarget(text: string): Target {
  const parts = text.split(':');
  if (parts.length > 3) throw badRequest(`invalid proxy target ${JSON.stringify(text)}`);
  if (parts.length === 3) return { scheme: parts[0] ?? '', name: parts[1] ?? '', port: parts[2] ?? '' };
  return { scheme: '', name: parts[0] ?? '', port: parts[1] ?? '' };
}

async function locateNode({ nodeAgents }: ProxyOptions, text: string): Promise<Backend> {
  const { name, port, scheme } = splitTarget(text);
  const agent = await nodeAgents.backend(name);
  if (port === '' || Number(port) === agent.port) return agent;
  return { host: agent.host, port: portNumber(port), ...(scheme === 'https' ? { tls: {} } : {}) };
}

async function locatePod({ reader }: ProxyOptions, namespace: string, text: string): Promise<Backend> {
  const { scheme, name, port } = splitTarget(text);
  const pod = (await reader.get(pods, namespace, name)) ?? (await reader.get(pods, namespace, name, 'latest'));
  if (pod === undefined) throw notFound({ group: '', resource: 'pods' }, name);
  const declared = pod.spec.containers.flatMap((container) => container.ports ?? [])[0]?.containerPort;
  const host = allowedAddress(pod.status?.podIP ?? '');
  return { host, port: port === '' ? (declared ?? 80) : portNumber(port), ...(scheme === 'https' ? { tls: {} } : {}) };
}

async function locateService({ reader, random }: ProxyOptions, namespace: string, text: string): Promise<Backend> {
  const { scheme, name, port } = splitTarget(text);
  const service = await reader.get(services, namespace, name);
  if (service === undefined) throw notFound({ group: '', resource: 'services' }, name);
  const ports = service.spec?.ports ?? [];
  const wanted = port === '' && ports.length === 1 ? (ports[0]?.name ?? '') : portName(ports, port);
  const found = await reader.get(endpoints, namespace, name);
  const candidates = (found?.subsets ?? []).flatMap(({ addresses = [], ports: open = [] }) =>
    open
      .filter((each) => (each.name ?? '') === wanted)
      .flatMap((each) => addresses.map(({ ip }) => ({ ip, port: each.port }))),
  );
  const chosen = candidates[Math.floor(random() * candidates.length)];
  if (chosen === undefined) throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(text)}`);
  return { host: allowedAddress(chosen.ip), port: chosen.port, ...(scheme === 'https' ? { tls: {} } : {}) };
}

/** A port may be given by its number in the Service; endpoints know only names. */
function portName(ports: readonly { name?: string; port: number }[], port: string): string {
  return (
    ports.find((each) => String(each.port) === port)?.name ??
    (ports.some((each) => String(each.port) === port) ? '' : port)
  );
}

function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw badRequest(`invalid port ${JSON.stringify(text)}`);
  return port;
}

/** This server must not be led to its own or its machine's private services by what somebody wrote into a status. */
function allowedAddress(ip: string): string {
  const local = isIPv4(ip) ? /^(127\.|169\.254\.|0\.)/.test(ip) : /^(::1?$|fe[89ab]|::ffff:127\.)/i.test(ip);
  if (ip === '' || local) throw badRequest('address not allowed');
  return ip;
}
