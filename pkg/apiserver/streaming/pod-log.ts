/** `pods/log`: the container's output, streamed from the node agent. */

import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest, type FieldFailure, internalError, invalid, StatusError } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { flag } from '#apiserver/http/request-info.js';
import { tokenSubprotocolPrefix } from '#apiserver/http/websocket.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ConnectEndpoint } from '#apiserver/resources/endpoints.js';
import { authority } from '#apiserver/service-routing/address.js';
import { bodyProtocol, sendOverWebSocket } from '#apiserver/streaming/body-websocket.js';
import { bodyText, chunks, openRequest } from '#apiserver/streaming/http-proxy.js';
import type { NodeAgents } from '#apiserver/streaming/node-agents.js';
import { chooseContainer, findPod } from '#apiserver/streaming/pod-target.js';
import { IterableBody } from '#http/server/body.js';

export interface PodLogOptions extends PodStreamOptions {
  readonly dialect: Dialect;
}

export interface PodStreamOptions {
  readonly reader: ObjectReader;
  readonly nodeAgents: NodeAgents;
}

const flags = ['follow', 'previous', 'timestamps'] as const;
/** Name → smallest allowed value. */
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
  // Nothing has run yet that could have written anything.
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

/** The options in the node agent's query. Throws 422 for those that cannot be. */
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

/** What the node agent refused, as a Status: its text is the message. */
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
