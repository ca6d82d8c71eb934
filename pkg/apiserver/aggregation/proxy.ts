/**
 * Forwards requests for versions that extension API servers serve. Headers carry the user, and this server's client
 * certificate vouches for them (kube-aggregator's `handler_proxy.go`).
 */

import type { Duplex } from 'node:stream';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { statusOf, tooManyRequests } from '#apimachinery/errors/status.js';
import type { ApiServices } from '#apiserver/aggregation/api-services.js';
import type { Connections } from '#apiserver/aggregation/connections.js';
import { type RemoteService, rootOf } from '#apiserver/aggregation/remote-service.js';
import { userHeaders } from '#apiserver/aggregation/user-headers.js';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import { discoveredVersion, isLongRunning } from '#apiserver/http/request-info.js';
import { tokenSubprotocolPrefix } from '#apiserver/http/websocket.js';
import { type Address, authority, type ServicePlace } from '#apiserver/service-routing/address.js';
import { type Backend, forwardedFor, forwardedHeaders } from '#apiserver/streaming/backend.js';
import { bodyToPass, proxyRequest } from '#apiserver/streaming/http-proxy.js';
import { upgradeBackend } from '#apiserver/streaming/upgrade-backend.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import { plainText } from '#http/server/exchange.js';

/** Resolves Services. Rejects if a Service cannot be reached. */
export interface ServiceAddresses {
  resolve(place: ServicePlace): Promise<Address>;
}

export interface AggregationProxyOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  readonly apiServices: ApiServices;
  readonly connections: Connections;
  readonly addresses: ServiceAddresses;
  /** `--aggregator-reject-forwarding-redirect`. */
  readonly rejectRedirects: boolean;
  /** Time limit of responses to requests that are not long-running. */
  readonly requestTimeoutMs: number;
  /** Request headers in which front proxies name users, in lower case; extension servers trust them, so clients may not send them. */
  readonly userHeaders: UserHeaderNames;
  /** Absent: nothing is traced. */
  readonly tracer?: Pick<Tracer, 'call'> | undefined;
}

export interface UserHeaderNames {
  readonly names: readonly string[];
  readonly prefixes: readonly string[];
}

/** Time limit of discovery requests: clients need them before anything else. */
const discoveryMs = 5000;
/**
 * Limit of concurrent requests per extension server, without long-running ones: a server that hangs must not use up
 * `--max-requests-inflight`.
 */
const maxInFlight = 100;

export class AggregationProxy {
  readonly #options: AggregationProxyOptions;
  readonly #inFlight = new Map<string, number>();

  constructor(options: AggregationProxyOptions) {
    this.#options = options;
  }

  /** The extension server of the request; undefined: this server answers. */
  find({ info, visible }: Pick<RequestContext, 'info' | 'visible'>): RemoteService | undefined {
    // The server would answer with all objects.
    if (visible !== undefined) return undefined;
    const { apiServices } = this.#options;
    const { group, version } = info.resourceRequest ? info : discoveredVersion(info);
    const remote = apiServices.find(group, version);
    // Authorization used the decoded path; forward only if it equals the received one.
    return remote !== undefined && isBelow(info.path, rootOf(remote)) ? remote : undefined;
  }

  /** Throws 429 at `maxInFlight`; other failures are plain-text responses, as in 1.24. */
  async serve(context: RequestContext, remote: RemoteService): Promise<ApiResponse> {
    if (!remote.available) return plain(503, 'service unavailable');
    const backend = await this.#backend(remote);
    if (backend === undefined) return plain(503, 'service unavailable');
    if (isLongRunning(context.info)) return this.#pass(context, remote, backend);
    const held = this.#inFlight.get(remote.name) ?? 0;
    if (held >= maxInFlight)
      throw tooManyRequests('too many requests to this extension API server, please try again later.', 1);
    this.#inFlight.set(remote.name, held + 1);
    try {
      return await this.#pass(context, remote, backend, this.#options.requestTimeoutMs);
    } finally {
      const left = (this.#inFlight.get(remote.name) ?? 1) - 1;
      if (left === 0) this.#inFlight.delete(remote.name);
      else this.#inFlight.set(remote.name, left);
    }
  }

  #withoutUsers(headers: ApiRequest['headers']): ApiRequest['headers'] {
    const { names, prefixes } = this.#options.userHeaders;
    const isUser = (name: string) => names.includes(name) || prefixes.some((prefix) => name.startsWith(prefix));
    return Object.fromEntries(Object.entries(headers).filter(([name]) => !isUser(name)));
  }

  /** Returns undefined once the connection is tunnelled to the server. */
  async upgrade(
    context: RequestContext,
    remote: RemoteService,
    { socket, head }: { readonly socket: Duplex; readonly head: Buffer },
  ): Promise<ApiResponse | undefined> {
    const { dialect, clock } = this.#options;
    const { request, user, auditId } = context;
    const { method, remoteAddress } = request;
    const backend = remote.available ? await this.#backend(remote) : undefined;
    if (backend === undefined) return plain(503, 'service unavailable');
    try {
      return await upgradeBackend({
        backend,
        request: { method, remoteAddress, headers: this.#withoutUsers(request.headers) },
        path: request.url,
        tokenProtocolPrefix: tokenSubprotocolPrefix(dialect),
        extraHeaders: { ...userHeaders(user), 'audit-id': auditId },
        socket,
        head,
        signal: request.signal,
        clock,
      });
    } catch (error) {
      if (statusOf(error)?.code === 400) throw error;
      return plain(503, messageOf(error));
    }
  }

  async #pass(
    context: RequestContext,
    remote: RemoteService,
    backend: Backend,
    limitMs?: number,
  ): Promise<ApiResponse> {
    const { clock, connections, rejectRedirects, tracer } = this.#options;
    const { request, info, user, auditId } = context;
    const isDiscovery = !info.resourceRequest;
    const timeout = new AbortController();
    const timer = isDiscovery
      ? clock.setTimer(() => timeout.abort(new Error(`no answer in ${discoveryMs / 1000} s`)), discoveryMs)
      : undefined;
    try {
      const response = await proxyRequest({
        backend,
        agent: connections.channel(remote).agent,
        method: request.method,
        path: request.url,
        headers: {
          ...forwardedHeaders(this.#withoutUsers(request.headers)),
          ...userHeaders(user),
          'x-forwarded-for': forwardedFor(request),
          'x-forwarded-host': authority(backend),
          'x-forwarded-proto': 'https',
          'x-forwarded-uri': info.path,
          // Both servers' audit logs use the same ID.
          'audit-id': auditId,
        },
        body: await bodyToPass(request),
        signal: isDiscovery ? AbortSignal.any([context.signal, timeout.signal]) : context.signal,
        links: { prefix: '', hosts: [authority(backend)] },
        whole: true,
        tracer,
        ...(limitMs === undefined ? {} : { limit: { clock, ms: limitMs } }),
      });
      return rejectRedirects && isRedirect(response) ? await refuseRedirect(response) : response;
    } catch (error) {
      // The client has disconnected, or the request has timed out.
      if (context.signal.aborted) throw error;
      return plain(503, messageOf(error));
    } finally {
      timer?.cancel();
    }
  }

  async #backend(remote: RemoteService): Promise<Backend | undefined> {
    const { addresses, connections, log } = this.#options;
    const { service, name } = remote;
    try {
      const { dial, tls } = connections.channel(remote);
      return { ...(await addresses.resolve(service)), tls, dial };
    } catch (err) {
      log.warn({ err, apiService: name, service }, 'could not resolve the Service of an extension API server');
      return undefined;
    }
  }
}

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}/`);
}

function isRedirect({ status, headers }: ApiResponse): boolean {
  return status >= 300 && status <= 399 && (headers['location'] ?? '') !== '';
}

/** Replaces a redirection by an error: an extension server must not redirect this server or its clients. */
async function refuseRedirect({ body }: ApiResponse): Promise<ApiResponse> {
  if (body !== undefined && !Buffer.isBuffer(body)) await body[Symbol.asyncIterator]().return?.();
  const text = 'the backend attempted to redirect this request, which is not permitted';
  return { status: 502, headers: {}, body: Buffer.from(text) };
}

/** A plain-text error like Go's `http.Error`. */
function plain(status: number, text: string): ApiResponse {
  return plainText(status, `${text}\n`);
}
