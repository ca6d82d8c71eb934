/** The API server for commands: generic requests for any served resource. */

import type { Socket } from 'node:net';
import type { Clock } from '#apimachinery/clock.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { type Status, StatusError, statusOf } from '#apimachinery/errors/status.js';
import { parseGroupVersion } from '#apimachinery/group-version.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { ApiObject } from '#client/client.js';
import { readLines } from '#client/rest/lines.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { responseRetryMs } from '#client/rest/retry.js';
import type { Transport, TransportResponse } from '#client/rest/transport.js';
import type { OpenAPIDocument } from '#cmd/orchctl/api/open-api.js';
import { apiVersionOf, ResourceCatalog, type ServedResource } from '#cmd/orchctl/api/resources.js';
import { asTable, type Table } from '#cmd/orchctl/api/table.js';

export interface Selection {
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface TableRequest extends Selection {
  /** Objects of one page; 0: all in one. */
  readonly limit?: number | undefined;
  /** Whether rows have the whole objects, instead of their metadata. */
  readonly wholeObjects?: boolean;
  readonly subresource?: string | undefined;
}

export interface Scope {
  /** Absent: all namespaces (or a cluster-scoped resource). */
  readonly namespace?: string | undefined;
}

export interface WatchMessage<T> {
  readonly type: string;
  readonly object: T;
}

/** Opens the streams of exec, attach and port-forward. */
export interface WebSocketTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** Connects to the server, through its proxy where it has one. */
  dial(): Promise<Socket>;
}

/** Accepts a Table under either dialect's name, else the objects. */
const tableMediaTypes = [
  ...[orchDialect, kubernetesDialect].map((d) => `application/json;as=Table;v=v1;g=${d.groupName('meta')}`),
  'application/json',
].join(', ');

/** Page size of lists, which bounds memory. */
const pageSize = 500;

export class Api {
  readonly #transport: Transport;
  readonly #signal: AbortSignal;
  readonly #clock: Clock;
  readonly #warn: (text: string) => void;
  readonly #warnings = new Set<string>();
  /** Address and dialer of a WebSocket for the path. */
  readonly webSocket: (path: string) => Promise<WebSocketTarget>;
  #catalog: Promise<ResourceCatalog> | undefined;
  #openAPI: Promise<OpenAPIDocument> | undefined;

  constructor(options: {
    transport: Transport;
    signal: AbortSignal;
    clock: Clock;
    /** Takes each of the server's warnings once. */
    warn?: (text: string) => void;
    webSocket: (path: string) => Promise<WebSocketTarget>;
  }) {
    this.#transport = options.transport;
    this.#signal = options.signal;
    this.#clock = options.clock;
    this.#warn = options.warn ?? (() => undefined);
    this.webSocket = options.webSocket;
  }

  /** The server's resources; requested once. */
  catalog(): Promise<ResourceCatalog> {
    this.#catalog ??= this.#discover();
    return this.#catalog;
  }

  /** The server's OpenAPI document; requested once. */
  openAPI(): Promise<OpenAPIDocument> {
    this.#openAPI ??= this.json<OpenAPIDocument>('GET', '/openapi/v2');
    return this.#openAPI;
  }

  /** A client for typed objects in Protobuf. */
  async client(dialect: Dialect): Promise<RestClient> {
    // Imported on demand: it needs the schema of all kinds and their codecs, which most commands do not.
    const [{ encodingFor }, { RestClient }] = await Promise.all([
      import('#client/rest/protobuf-encoding.js'),
      import('#client/rest/rest-client.js'),
    ]);
    const encoding = encodingFor(dialect.protobufMediaType, dialect);
    return new RestClient({ transport: this.#transport, dialect, clock: this.#clock, userAgent: 'orchctl', encoding });
  }

  /** Sends any request with a JSON response. Throws a StatusError on failure. */
  async json<R>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<R> {
    const response = await this.send(method, path, body === undefined ? undefined : toJSONText(body), {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    });
    return parseJSONText((await collect(response)).toString('utf8')) as R;
  }

  /**
   * Sends any request and returns the response with its body unread. Retries when the server sets Retry-After. Throws a
   * StatusError on failure.
   */
  async send(
    method: string,
    path: string,
    body: string | undefined,
    headers: Record<string, string>,
    signal: AbortSignal = this.#signal,
  ): Promise<TransportResponse> {
    for (let retries = 0; ; retries += 1) {
      const response = await this.#transport.request({
        method,
        path,
        headers: { 'user-agent': 'orchctl', ...headers },
        ...(body === undefined ? {} : { body }),
        signal,
      });
      this.#showWarnings(response);
      if (response.status < 400) return response;
      const text = (await collect(response)).toString('utf8');
      const waitMs = responseRetryMs(response, retries);
      if (waitMs === undefined) throw failureOf(response.status, text);
      await this.#clock.sleep(waitMs, signal);
    }
  }

  /** Sends any request and returns its response, whatever its status. */
  async answer(
    method: string,
    path: string,
    body: string,
    headers: Record<string, string>,
  ): Promise<Pick<TransportResponse, 'status' | 'headers'> & { readonly text: string }> {
    const response = await this.#transport.request({
      method,
      path,
      headers: { 'user-agent': 'orchctl', accept: 'application/json', ...headers },
      body,
      signal: this.#signal,
    });
    const { status, headers: answered } = response;
    return { status, headers: answered, text: (await collect(response)).toString('utf8') };
  }

  #showWarnings({ headers }: Pick<TransportResponse, 'headers'>): void {
    const values = [headers['warning'] ?? []].flat();
    for (const text of values.flatMap(warningTexts)) {
      if (this.#warnings.has(text)) continue;
      this.#warnings.add(text);
      this.#warn(text);
    }
  }

  get<T extends ApiObject>(resource: ServedResource, name: string, scope: Scope): Promise<T> {
    return this.json('GET', objectPath(resource, name, scope));
  }

  /** @param limit Objects of one page; 0: all in one. */
  async list<T extends ApiObject>(
    resource: ServedResource,
    scope: Scope,
    selection: Selection = {},
    limit = pageSize,
  ): Promise<T[]> {
    const items: T[] = [];
    let next: string | undefined;
    do {
      const query = { ...selectionQuery(selection), ...pageOf(limit), continue: next };
      const path = withQuery(collectionPath(resource, scope), query);
      const page = await this.json<{ items?: T[]; metadata?: { continue?: string } }>('GET', path);
      // List items do not contain their kind; printed alone they need it.
      for (const item of page.items ?? []) {
        items.push({ ...item, apiVersion: apiVersionOf(resource), kind: resource.kind });
      }
      next = page.metadata?.continue;
    } while (next !== undefined && next !== '');
    return items;
  }

  /** Rows of one object or a collection, as the server prints them. */
  async table(
    resource: ServedResource,
    name: string | undefined,
    scope: Scope,
    { limit = pageSize, wholeObjects = false, subresource, ...selection }: TableRequest = {},
  ) {
    const includeObject = wholeObjects ? 'Object' : undefined;
    if (name !== undefined) {
      const path = withQuery(objectPath(resource, name, scope, subresource), { includeObject });
      const answer = await this.json<Table>('GET', path, undefined, { accept: tableMediaTypes });
      return asTable(answer, this.#clock.now());
    }
    let table: Table | undefined;
    let next: string | undefined;
    do {
      const query = { ...selectionQuery(selection), ...pageOf(limit), includeObject, continue: next };
      const path = withQuery(collectionPath(resource, scope), query);
      const answer: Table = await this.json('GET', path, undefined, { accept: tableMediaTypes });
      const page = asTable(answer, this.#clock.now());
      table = { ...page, rows: [...(table?.rows ?? []), ...(page.rows ?? [])] };
      next = page.metadata?.continue;
    } while (next !== undefined && next !== '');
    return table;
  }

  /** Watches from `resourceVersion` until the server or the user ends it. */
  async *watch<T>(
    resource: ServedResource,
    scope: Scope,
    selection: Selection & { resourceVersion?: string | undefined; asTable?: boolean },
    signal: AbortSignal = this.#signal,
  ): AsyncIterable<WatchMessage<T>> {
    const query = { ...selectionQuery(selection), watch: '1', resourceVersion: selection.resourceVersion };
    const accept = selection.asTable === true ? tableMediaTypes : 'application/json';
    const path = withQuery(collectionPath(resource, scope), query);
    const response = await this.send('GET', path, undefined, { accept }, signal);
    for await (const line of readLines(response.body)) {
      const message = parseJSONText(line.toString('utf8')) as WatchMessage<T>;
      if (message.type === 'ERROR') throw new StatusError(message.object as Status);
      yield message;
    }
  }

  async close(): Promise<void> {
    await this.#transport.close();
  }

  async #discover(): Promise<ResourceCatalog> {
    const groups = await this.json<{
      groups: { name: string; preferredVersion?: { groupVersion: string }; versions: { groupVersion: string }[] }[];
    }>('GET', '/apis');
    const paths = ['/api/v1', ...groups.groups.flatMap((g) => preferred(g).map((version) => `/apis/${version}`))];
    const lists = await Promise.all(paths.map((path) => this.#resourceListAt(path)));
    return new ResourceCatalog(lists.flatMap((list) => (list === undefined ? [] : servedResources(list))));
  }

  /** Undefined for a version whose server is unavailable, so that the other versions still work. */
  async #resourceListAt(path: string): Promise<ResourceListDocument | undefined> {
    try {
      return await this.json<ResourceListDocument>('GET', path);
    } catch (error) {
      const code = statusOf(error)?.code ?? 0;
      if (path.startsWith('/apis/') && (code === 404 || code >= 500)) return undefined;
      throw error;
    }
  }
}

interface ResourceListDocument {
  groupVersion: string;
  resources: {
    name: string;
    singularName?: string;
    kind: string;
    namespaced: boolean;
    verbs: string[];
    shortNames?: string[];
    categories?: string[];
  }[];
}

function preferred(group: { preferredVersion?: { groupVersion: string }; versions: { groupVersion: string }[] }) {
  const first = group.preferredVersion?.groupVersion;
  return [...new Set([...(first === undefined ? [] : [first]), ...group.versions.map((v) => v.groupVersion)])];
}

function servedResources(list: ResourceListDocument): ServedResource[] {
  const { group, version } = parseGroupVersion(list.groupVersion);
  return list.resources
    .filter((r) => !r.name.includes('/'))
    .map((r) => ({
      group,
      version,
      resource: r.name,
      singular: r.singularName === undefined || r.singularName === '' ? r.kind.toLowerCase() : r.singularName,
      kind: r.kind,
      namespaced: r.namespaced,
      verbs: r.verbs,
      shortNames: r.shortNames ?? [],
      categories: r.categories ?? [],
    }));
}

export function collectionPath(resource: ServedResource, scope: Scope): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const inside =
    resource.namespaced && scope.namespace !== undefined ? `/namespaces/${encodeURIComponent(scope.namespace)}` : '';
  return `${root}${inside}/${resource.resource}`;
}

export function objectPath(resource: ServedResource, name: string, scope: Scope, subresource?: string): string {
  const path = `${collectionPath(resource, scope)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** Appends the parameters that are set. */
export function withQuery(path: string, parameters: Record<string, string | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.append(name, value);
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** The texts of a header with warnings: `299 - "text", 299 - "text"` (RFC 7234). */
function warningTexts(header: string): string[] {
  return [...header.matchAll(/\b299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text.replaceAll(/\\(.)/g, '$1'));
}

function pageOf(limit: number): Record<string, string | undefined> {
  return { limit: limit > 0 ? String(limit) : undefined };
}

function selectionQuery(selection: Selection): Record<string, string | undefined> {
  return { labelSelector: selection.labelSelector, fieldSelector: selection.fieldSelector };
}

async function collect(response: TransportResponse): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of response.body) parts.push(part);
  return Buffer.concat(parts);
}

export function failureOf(code: number, body: string): StatusError {
  try {
    const status: unknown = parseJSONText(body);
    const parsed = statusOf({ status });
    if (parsed?.kind === 'Status') return new StatusError(parsed);
  } catch {
    // Not JSON, such as a proxy's page or plain text.
  }
  const [reason, message] = genericFailure(code, body.trim());
  return new StatusError({ status: 'Failure', code, reason, message });
}

/** Reason and message of an answer without a Status, in the words of release 1.24's client. */
function genericFailure(code: number, text: string): [reason: string, message: string] {
  switch (code) {
    case 401:
      return ['Unauthorized', 'the server has asked for the client to provide credentials'];
    case 403:
      return ['Forbidden', text === '' ? 'the server does not allow access to the requested resource' : text];
    case 404:
      return ['NotFound', 'the server could not find the requested resource'];
    case 405:
      return [
        'MethodNotAllowed',
        text === '' ? 'the server does not allow this method on the requested resource' : text,
      ];
    case 409:
      return ['Conflict', 'the server reported a conflict'];
    case 429:
      return ['TooManyRequests', 'the server has received too many requests and has asked us to try again later'];
    case 503:
      return ['ServiceUnavailable', text === '' ? 'the server is currently unable to handle the request' : text];
    case 504:
      return [
        'Timeout',
        'the server was unable to return a response in the time allotted, but may still be processing the request',
      ];
    default:
      return code >= 500
        ? [
            'InternalError',
            `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`,
          ]
        : [
            '',
            text === ''
              ? `the server responded with the status code ${code} but did not return more information`
              : text,
          ];
  }
}
