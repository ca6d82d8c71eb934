/** Routes resource requests to the functions of their verbs. */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import { acceptsAny } from '#apimachinery/codec/negotiate.js';
import type { Dialect } from '#apimachinery/dialect.js';
import {
  badRequest,
  methodNotAllowed,
  notFound,
  pathNotFound,
  serviceUnavailable,
} from '#apimachinery/errors/status.js';
import type { SubresourceDeclaration } from '#apimachinery/schema/schema.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { type RequestContext, warn } from '#apiserver/http/request-context.js';
import { createObject } from '#apiserver/registry/create.js';
import { deleteObject } from '#apiserver/registry/delete.js';
import { deleteCollection } from '#apiserver/registry/delete-collection.js';
import { getObject } from '#apiserver/registry/get.js';
import { listObjects } from '#apiserver/registry/list.js';
import type { Operation, RegistryContext } from '#apiserver/registry/operation.js';
import { patchObject } from '#apiserver/registry/patch.js';
import { isPatchType } from '#apiserver/registry/patch-body.js';
import { createWhileTerminating, methodNotServed, partMethodNotServed } from '#apiserver/registry/request-errors.js';
import { updateObject } from '#apiserver/registry/update.js';
import { mainProfile, partProfile } from '#apiserver/registry/update-profiles.js';
import { watchObjects } from '#apiserver/registry/watch.js';
import type { ConnectEndpoint, VirtualResource } from '#apiserver/resources/endpoints.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import { admitConnection } from '#apiserver/routing/admit-connection.js';
import { serveVirtual } from '#apiserver/routing/virtual-resource.js';
import { bindPod } from '#apiserver/subresources/binding.js';
import { evictPod } from '#apiserver/subresources/eviction.js';
import { serveScale } from '#apiserver/subresources/scale.js';

/** Throws 404 for unknown subresources and 405 for verbs that the subresource does not have. */
async function serveSubresource(operation: Operation): Promise<ApiResponse> {
  const { context, resource } = operation;
  const { info } = context;
  const declared = resource.declaration.subresources?.find(({ name }) => name === info.subresource);
  if (declared === undefined) {
    throw resource.edition === undefined ? pathNotFound() : notFound(resource.qualified, info.name);
  }
  if (!declared.verbs.includes(info.verb)) throw partMethodNotServed(resource, info.verb);
  const handler = operationOf(resource, info.subresource);
  if (handler !== undefined) return handler(operation);
  const profile = partProfile(resource, info.subresource);
  if (profile === undefined) throw pathNotFound();
  if (info.verb === 'get') return getObject(operation);
  if (info.verb === 'update') return updateObject(operation, profile);
  if (info.verb === 'patch') return patchObject(operation, profile);
  throw partMethodNotServed(resource, info.verb);
}

/** Like 1.24, does not warn for requests with unsupported media types. */
function warnOfDeprecation({ registry, context, resource }: Operation): void {
  const { declaration, group, apiVersion, deprecationWarning } = resource;
  const { deprecation, kind } = declaration;
  if (deprecationWarning === undefined && deprecation === undefined) return;
  const { info, request } = context;
  const { headers } = request;
  if (!acceptsAny(headers['accept'], registry.dialect)) return;
  if (info.verb === 'patch' && !isPatchType(headers['content-type'])) return;
  if (deprecationWarning !== undefined) {
    registry.metrics.deprecated(context.info, '');
    annotateDeprecation(registry.dialect, context, undefined);
    warn(context, deprecationWarning);
    return;
  }
  if (deprecation === undefined) return;
  const { since, until, replacement } = deprecation;
  const gone = until === undefined ? '' : `, unavailable in v${until}+`;
  const instead = replacement === undefined ? '' : `; use ${group}/${replacement} ${kind}`;
  registry.metrics.deprecated(context.info, until ?? '');
  annotateDeprecation(registry.dialect, context, until);
  warn(context, `${apiVersion} ${kind} is deprecated in v${since}+${gone}${instead}`);
}

function annotateDeprecation({ apiDomain }: Dialect, { audit }: RequestContext, until: string | undefined): void {
  audit?.annotate(`${apiDomain}/deprecated`, 'true');
  if (until !== undefined) audit?.annotate(`${apiDomain}/removed-release`, until);
}

export interface ResourceRouterOptions {
  readonly virtual: readonly VirtualResource[];
  readonly connects: readonly ConnectEndpoint[];
  readonly definitions: DefinitionCache;
  /** Delays writes until storage versions are recorded; absent: no delay. */
  readonly barrier?: WriteBarrier | undefined;
}

/** This server's cache of CustomResourceDefinitions. */
export interface DefinitionCache {
  /** False until the cache is filled. */
  readonly synced: boolean;
  /** Updates the cache from the store, for one definition or all. Rejects if the store does not answer. */
  catchUp(name: string | undefined, signal: AbortSignal): Promise<void>;
}

export interface WriteBarrier {
  /** Undefined: the request need not wait. Throws or rejects if it is refused. */
  admit(context: RequestContext, resource: ServedResource): Promise<void> | undefined;
}

export class ResourceRouter {
  readonly #registry: RegistryContext;
  readonly #virtual: ReadonlyMap<string, VirtualResource>;
  readonly #connects: ReadonlyMap<string, ConnectEndpoint>;
  readonly #definitions: DefinitionCache;
  readonly #barrier: WriteBarrier | undefined;

  constructor(registry: RegistryContext, { virtual, connects, definitions, barrier }: ResourceRouterOptions) {
    this.#registry = registry;
    this.#definitions = definitions;
    this.#barrier = barrier;
    this.#virtual = new Map(virtual.map((v) => [endpointKey(v.group, v.resource, v.subresource), v]));
    this.#connects = new Map(connects.map((c) => [endpointKey(c.group, c.resource, c.subresource), c]));
  }

  /** Throws 404 for unknown resources and 405 for verbs that the resource does not have. */
  serve(context: RequestContext): MaybePromise<ApiResponse> {
    const caughtUp = this.#caughtUp(context);
    return caughtUp === undefined ? this.#admitted(context) : caughtUp.then(() => this.#admitted(context));
  }

  /** Like `find`, after updating the cache of definitions if necessary. */
  async resolve(context: RequestContext): Promise<ServedResource> {
    await this.#caughtUp(context);
    return this.find(context);
  }

  /** Another server or worker may have established a definition that this cache does not contain yet. */
  #caughtUp(context: RequestContext): Promise<void> | undefined {
    const { info } = context;
    if (this.#isDefined(info) || !this.#definitions.synced) return undefined;
    return this.#definitions.catchUp(`${info.resource}.${info.group}`, context.signal);
  }

  /** False for resources that a new definition may serve; groups of definitions are domains. */
  #isDefined({ group, version, resource }: RequestContext['info']): boolean {
    return !group.includes('.') || this.#registry.resources.find(group, version, resource) !== undefined;
  }

  #admitted(context: RequestContext): MaybePromise<ApiResponse> {
    const resource = this.find(context);
    const waiting = this.#barrier?.admit(context, resource);
    return waiting === undefined ? this.#serve(context, resource) : waiting.then(() => this.#serve(context, resource));
  }

  #serve(context: RequestContext, resource: ServedResource): MaybePromise<ApiResponse> {
    const { info } = context;
    const { group, verbs } = resource.declaration;
    // Resources that can only be created, such as reviews, have no objects with a path.
    if (info.name !== '' && info.subresource === '' && verbs.every((verb) => verb === 'create')) throw pathNotFound();
    // An escaped slash counts as a slash; for custom kinds, `checkCustomPath` reports it.
    if (info.name.includes('/') && resource.edition === undefined) throw pathNotFound();
    const virtual = this.#virtual.get(endpointKey(group, info.resource, info.subresource));
    const operation = { registry: this.#registry, context, resource };
    if (virtual !== undefined) return serveVirtual(operation, virtual);
    if (info.subresource !== '') {
      const connect = this.connect(context, resource);
      if (connect?.connect !== undefined) return this.#connect(operation, connect);
      // Subresources of the object's own kind are deprecated with it; other kinds are not.
      const { kind, verbs: served = [] } = subresourceOf(resource, info.subresource) ?? {};
      if (kind === resource.declaration.kind && served.includes(info.verb)) warnOfDeprecation(operation);
      return serveSubresource(operation);
    }
    const nameless = info.name === '' && (info.verb === 'update' || info.verb === 'patch');
    // Only reads may span namespaces.
    const homeless = resource.declaration.namespaced && info.namespace === '' && !readVerbs.has(info.verb);
    if (resource.edition !== undefined) checkCustomPath(resource, context, { nameless, homeless });
    else if (nameless || homeless || !resource.declaration.verbs.includes(info.verb)) {
      throw methodNotServed(resource.qualified, info.verb);
    }
    // Creating at an object's path is refused, so do not warn.
    if (info.verb !== 'create' || info.name === '') warnOfDeprecation(operation);
    return this.#verb(operation);
  }

  /** The request's resource. Throws 404, and 405 for watches with a writing method. */
  find({ info, request }: Pick<RequestContext, 'info' | 'request'>): ServedResource {
    const resource = this.#registry.resources.find(info.group, info.version, info.resource);
    if (resource === undefined) {
      throw !this.#isDefined(info) && !this.#definitions.synced
        ? serviceUnavailable('server is starting')
        : pathNotFound();
    }
    if (info.verb === 'watch') {
      // No subresources below `/watch/`: permission to watch pods must not allow running commands in them.
      if (info.subresource !== '') throw pathNotFound();
      if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotServed(resource.qualified, 'watch');
    }
    const { named, inNamespace, broken } = info.address;
    // Namespaced objects are addressed below their namespace, cluster-wide ones never: authorization depends on the path.
    const { namespaced } = resource.declaration;
    if (broken || (namespaced ? named && !inNamespace : inNamespace)) throw pathNotFound();
    // Only a proxy has additional path segments.
    if (info.rest.length > 0 && info.subresource !== 'proxy') throw pathNotFound();
    return resource;
  }

  async #connect(operation: Operation, endpoint: ConnectEndpoint): Promise<ApiResponse> {
    await admitConnection(operation);
    if (endpoint.connect === undefined) throw pathNotFound();
    return endpoint.connect(operation.context);
  }

  /** The endpoint of a connection. Throws 405 for verbs that the subresource does not have; a proxy accepts all. */
  connect(
    { info, request }: Pick<RequestContext, 'info' | 'request'>,
    resource: ServedResource,
  ): ConnectEndpoint | undefined {
    const endpoint = this.#connects.get(endpointKey(resource.declaration.group, info.resource, info.subresource));
    const verbs = subresourceOf(resource, info.subresource)?.verbs ?? [];
    if (endpoint !== undefined && info.subresource !== 'proxy' && !verbs.includes(info.verb))
      throw methodNotServed(resource.qualified, request.method);
    return endpoint;
  }

  #verb(operation: Operation): MaybePromise<ApiResponse> {
    const { context, resource } = operation;
    switch (context.info.verb) {
      case 'get':
        return getObject(operation);
      case 'list':
        return listObjects(operation);
      case 'watch':
        return watchObjects(operation);
      case 'create':
        if (context.info.name !== '' && resource.edition === undefined)
          throw methodNotServed(resource.qualified, 'POST');
        if (resource.isTerminating === true) throw createWhileTerminating(resource.qualified);
        return (operationOf(resource, '') ?? createObject)(operation);
      case 'update':
        return updateObject(operation, mainProfile(resource));
      case 'patch':
        return patchObject(operation, mainProfile(resource));
      case 'delete':
        return deleteObject(operation);
      case 'deletecollection':
        return deleteCollection(operation);
      default:
        throw methodNotServed(resource.qualified, context.request.method);
    }
  }
}

/** Errors for custom resources differ from those of built-in ones, as in 1.24. */
function checkCustomPath(
  { qualified, declaration }: ServedResource,
  { info }: RequestContext,
  { nameless, homeless }: { readonly nameless: boolean; readonly homeless: boolean },
): void {
  if (homeless) throw pathNotFound();
  // An escaped slash counts as a slash, and the object has no such subresource.
  if (info.name.includes('/')) throw notFound(qualified, info.name.slice(0, info.name.indexOf('/')));
  if (nameless) throw badRequest('name must be provided');
  if (!declaration.verbs.includes(info.verb)) throw methodNotAllowed(qualified, info.verb);
}

const readVerbs = new Set(['get', 'list', 'watch']);

function subresourceOf({ declaration }: ServedResource, subresource: string): SubresourceDeclaration | undefined {
  return declaration.subresources?.find(({ name }) => name === subresource);
}

function endpointKey(group: string, resource: string, subresource: string): string {
  return `${group}/${resource}/${subresource}`;
}

type Handler = (operation: Operation) => Promise<ApiResponse>;

/** Handlers of subresources and resources with a kind of their own, by resource and subresource of the core group. */
const operations: Readonly<Record<string, Handler>> = {
  'pods/binding': bindPod,
  // The old form of `pods/binding`.
  'bindings/': bindPod,
  'pods/eviction': evictPod,
};

/** Undefined for subresources that are views of the object, and for ordinary resources (empty subresource). */
function operationOf({ group, declaration }: ServedResource, subresource: string): Handler | undefined {
  if (subresource === 'scale') return serveScale;
  return group === '' ? operations[`${declaration.resource}/${subresource}`] : undefined;
}
