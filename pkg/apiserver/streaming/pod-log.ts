/** `pods/log`: a container's log, streamed from the node agent; over WebSocket for clients in browsers. */

import type { IncomingMessage } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import {
  badRequest,
  type FieldFailure,
  forbidden,
  internalError,
  invalid,
  StatusError,
} from '#apimachinery/errors/status.js';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import { flag } from '#apiserver/http/request-info.js';
import { tokenSubprotocolPrefix } from '#apiserver/http/websocket.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ConnectEndpoint, UpgradedConnection } from '#apiserver/resources/endpoints.js';
import { authority } from '#apiserver/service-routing/address.js';
import { bodyText, chunks, openRequest } from '#apiserver/streaming/http-proxy.js';
import type { NodeAgents } from '#apiserver/streaming/node-agents.js';
import { chooseContainer, findPod } from '#apiserver/streaming/pod-target.js';
import { logProtocol } from '#daemon/streaming/protocols.js';
import { IterableBody } from '#http/server/body.js';

export interface PodLogOptions extends PodStreamOptions {
  readonly dialect: Dialect;
}

export interface PodStreamOptions {
  readonly reader: ObjectReader;
  readonly nodeAgents: NodeAgents;
}

const flags = ['follow', 'previous', 'timestamps'] as const;
/** Smallest allowed values. */
const numbers = { sinceSeconds: 1, tailLines: 0, limitBytes: 1 } as const;

export function podLog(options: PodLogOptions): ConnectEndpoint {
  const connect = (context: RequestContext) => openLog(options, context);
  return {
    group: 'core',
    resource: 'pods',
    subresource: 'log',
    connect,
    async upgrade(context, connection) {
      const { request } = context;
      if (request.headers['upgrade']?.toLowerCase() !== 'websocket') return connect(context);
      const protocol = bodyProtocol(request, tokenSubprotocolPrefix(options.dialect));
      await sendOverWebSocket({ request, answer: await connect(context), protocol, ...connection });
      return undefined;
    },
  };
}

async function openLog({ reader, nodeAgents }: PodStreamOptions, context: RequestContext): Promise<ApiResponse> {
  const { info, signal } = context;
  const query = logQuery(info.query);
  const pod = await findPod(reader, info.namespace, info.name);
  const container = chooseContainer(pod, info.query.get('container') ?? '');
  const headers = { 'content-type': 'text/plain' };
  // No container has run before the pod is bound.
  if ((pod.spec.nodeName ?? '') === '') return { status: 204, headers: {}, body: undefined };
  const insecure = flag(info.query, 'insecureSkipTLSVerifyBackend');
  const backend = await nodeAgents.backend(pod.spec.nodeName ?? '', { insecure });
  const path = `/containerLogs/${encodeURIComponent(info.namespace)}/${encodeURIComponent(info.name)}/${encodeURIComponent(container)}${query}`;
  const response = await openRequest({ backend, method: 'GET', path, headers: {}, signal }).catch((error: unknown) => {
    const why = messageOf(error);
    throw internalError(new Error(`Get "https://${authority(backend)}${path}": ${why}`, { cause: error }));
  });
  const { statusCode = 500 } = response;
  if (statusCode >= 200 && statusCode < 300) return { status: 200, headers, body: new IterableBody(chunks(response)) };
  throw agentFailure(statusCode, await bodyText(response), info.name);
}

/** The node agent's query. Throws 422 for invalid options. */
function logQuery(query: URLSearchParams): string {
  const out = new URLSearchParams();
  const failures: FieldFailure[] = [];
  for (const name of flags) if (flag(query, name)) out.set(name, 'true');
  for (const [name, min] of Object.entries(numbers)) {
    const text = query.get(name);
    if (text === null || text === '') continue;
    const value = Number(text);
    if (!/^-?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
    if (value < min)
      failures.push({
        field: name,
        reason: 'FieldValueInvalid',
        message: `Invalid value: ${value}: must be greater than ${min === 0 ? 'or equal to 0' : '0'}`,
      });
    out.set(name, text);
  }
  const since = query.get('sinceTime');
  if (since !== null && since !== '') {
    if (Number.isNaN(Date.parse(since))) throw badRequest(`parsing time ${JSON.stringify(since)}: it is not RFC 3339`);
    if (out.has('sinceSeconds'))
      failures.push({
        field: 'sinceTime',
        reason: 'FieldValueForbidden',
        message: 'Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified',
      });
    out.set('sinceTime', since);
  }
  if (failures.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, '', failures);
  const text = out.toString();
  return text === '' ? '' : `?${text}`;
}

/** The node agent's error as a Status with its text as the message. */
function agentFailure(code: number, text: string, name: string): StatusError {
  const message = text.trim();
  if (code === 400) return badRequest(message);
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message:
      message === ''
        ? `the server responded with the status code ${code} but did not return more information (get pods ${name})`
        : message,
    reason: code === 404 ? 'NotFound' : code === 403 ? 'Forbidden' : 'InternalError',
    details: { name, kind: 'pods', causes: [{ reason: 'UnexpectedServerResponse', message }] },
    code,
  });
}

interface WebSocketLog extends UpgradedConnection {
  readonly request: ApiRequest;
  readonly answer: ApiResponse;
  /** Subprotocol chosen by `bodyProtocol`. */
  readonly protocol: string;
}

/** Limit of a client's message; all are ignored. */
const maxPayloadBytes = 1024;
const protocols: readonly string[] = Object.values(logProtocol);

/** The subprotocol, empty if the client offers none. Throws 403 if it offers only unsupported ones. */
function bodyProtocol(request: ApiRequest, tokenProtocolPrefix: string): string {
  const offered = (request.headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '' && !part.startsWith(tokenProtocolPrefix));
  const protocol = offered.length === 0 ? '' : offered.find((each) => protocols.includes(each));
  if (protocol !== undefined) return protocol;
  const lists = `[${offered.join(' ')}]; supports [${protocols.join(' ')}]`;
  throw forbidden({ group: '', resource: '' }, '', `requested protocol(s) are not supported: ${lists}`);
}

/**
 * Sends the body as messages: bytes, or text in the base64 subprotocol. Resolves when the body has ended or the client has
 * disconnected; the request's signal ends the body then.
 */
async function sendOverWebSocket(options: WebSocketLog): Promise<void> {
  const { answer, protocol, messages } = options;
  const client = await accept(options);
  if (client === undefined) return;
  client.on('error', () => undefined);
  const base64 = protocol === logProtocol.base64;
  // Like 1.24, begin with an empty message.
  let open = await messages.send(client, base64 ? '' : Buffer.alloc(0));
  for await (const chunk of parts(answer)) {
    open &&= await messages.send(client, base64 ? chunk.toString('base64') : chunk);
    if (!open) break;
  }
  client.close(1000);
}

function accept({ request, protocol, socket, head }: WebSocketLog): Promise<WebSocket | undefined> {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxPayloadBytes,
    handleProtocols: () => (protocol === '' ? false : protocol),
  });
  const { method, url, headers } = request;
  return new Promise((resolve) => {
    socket.once('close', () => resolve(undefined));
    // The library reads only these three members, and answers invalid requests itself.
    server.handleUpgrade({ method, url, headers } as IncomingMessage, socket, head, resolve);
  });
}

async function* parts({ body }: ApiResponse): AsyncGenerator<Buffer> {
  if (body === undefined) return;
  if (Buffer.isBuffer(body)) yield body;
  else yield* body;
}
