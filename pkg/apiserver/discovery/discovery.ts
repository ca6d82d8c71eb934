/** Serves the discovery paths: `/api`, `/apis`, `/apis/G`, `/apis/G/V`. */
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { pathNotFound } from '#apimachinery/errors/status.js';
import { AggregatedDiscovery, type AggregatedForm, aggregatedForm } from '#apiserver/discovery/aggregated-discovery.js';
import {
  type GroupVersions,
  groupsOf,
  type RemoteVersion,
  resourceDocuments,
} from '#apiserver/discovery/resource-list.js';
import { tagged } from '#apiserver/http/etag.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import { methodNotServed } from '#apiserver/registry/request-errors.js';
import type { Responder } from '#apiserver/representation/respond.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';

export interface DiscoveryOptions {
  readonly dialect: Dialect;
  readonly responder: Responder;
  readonly resources: ResourceTable;
  readonly turns: Pick<TurnQueue, 'pause'>;
  /** True when the feature gate is on. */
  readonly gate: (name: string) => boolean;
  /** Versions that other servers serve. */
  readonly remote: () => Iterable<RemoteVersion>;
  /** Resolves once all definitions in the store are served. */
  readonly caughtUp: (signal: AbortSignal) => Promise<void>;
  /** `host:port` at which clients reach this server. */
  readonly serverAddress: () => string;
}

export class Discovery {
  readonly #options: DiscoveryOptions;
  readonly #aggregated: AggregatedDiscovery;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
    this.#aggregated = new AggregatedDiscovery(options);
  }

  /** Undefined for other paths. Throws 404 for groups and versions that are not served. */
  serve(context: RequestContext): Promise<ApiResponse> | undefined {
    const [root, ...rest] = context.info.segments;
    if (root !== 'api' && root !== 'apis') return undefined;
    return root === 'api' ? this.#answer(context, root, rest) : this.#newest(context, rest);
  }

  /** Catches up first: clients look for definitions that another server or worker has just announced. */
  async #newest(context: RequestContext, rest: string[]): Promise<ApiResponse> {
    if (rest.length === 0 || rest[0]?.includes('.')) await this.#options.caughtUp(context.signal);
    return this.#answer(context, 'apis', rest);
  }

  async #answer(context: RequestContext, root: 'api' | 'apis', rest: string[]): Promise<ApiResponse> {
    if (root === 'api' && rest.length === 0) requireReading(context);
    const form = rest.length === 0 ? this.#aggregatedForm(context) : undefined;
    if (form !== undefined) return this.#aggregated.answer(context, form, root, () => this.#ofRoot(root));
    const response = await (root === 'api' ? this.#core(context, rest) : this.#groups(context, rest));
    return tagged(context.request, response);
  }

  #core(context: RequestContext, [version, ...more]: string[]): Promise<ApiResponse> {
    const { responder } = this.#options;
    if (more.length > 0) throw pathNotFound();
    if (version !== undefined) return this.#resources(context, '', version);
    const [core] = this.#ofRoot('api');
    return responder.object(context, {
      kind: 'APIVersions',
      versions: core?.versions ?? [],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: this.#options.serverAddress() }],
    });
  }

  #groups(context: RequestContext, [group, version, ...more]: string[]): Promise<ApiResponse> {
    const { responder } = this.#options;
    if (more.length > 0) throw pathNotFound();
    if (group !== undefined && version !== undefined) return this.#resources(context, group, version);
    const groups = this.#ofRoot('apis');
    if (group === undefined) {
      return responder.object(context, { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupDocument) });
    }
    const match = groups.find(({ name }) => name === group);
    if (match === undefined) throw pathNotFound();
    return responder.object(context, { kind: 'APIGroup', apiVersion: 'v1', ...groupDocument(match) });
  }

  #ofRoot(root: 'api' | 'apis'): GroupVersions[] {
    const { resources, remote } = this.#options;
    return groupsOf(resources, remote()).filter(({ name }) => (name === '') === (root === 'api'));
  }

  #resources(context: RequestContext, group: string, version: string): Promise<ApiResponse> {
    const { responder, resources, dialect, gate } = this.#options;
    const hashes = gate('StorageVersionHash');
    const documents = resourceDocuments(resources, group, version, { dialect, hashes });
    if (documents.length === 0) throw pathNotFound();
    // Documents with only custom resources do not restrict the method.
    if ([...resources.of(group, version)].some(({ edition }) => edition === undefined)) requireReading(context);
    return responder.object(context, {
      kind: 'APIResourceList',
      ...(group === '' ? {} : { apiVersion: 'v1' }),
      groupVersion: group === '' ? version : `${group}/${version}`,
      resources: documents,
    });
  }

  /** Undefined if extension API servers serve versions: clients then request each version, since only its server knows it. */
  #aggregatedForm(context: RequestContext): AggregatedForm | undefined {
    const [remote] = this.#options.remote();
    return remote === undefined ? aggregatedForm(context) : undefined;
  }
}

function groupDocument({ name, versions }: GroupVersions) {
  const documents = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: documents, preferredVersion: documents[0] };
}

/** Throws 405 for methods that do not read. */
export function requireReading({ request: { method } }: RequestContext): void {
  if (method !== 'GET' && method !== 'HEAD') throw methodNotServed({ group: '', resource: '' }, method);
}
