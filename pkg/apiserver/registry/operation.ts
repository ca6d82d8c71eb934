import type { RequestContext } from '#apiserver/http/context.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/**
 * What one request does to one resource: made by the router, and handed on to whoever works on it. Who needs only some of
 * what the registry has says so by `Registry`.
 */
export interface Operation<Registry = RegistryContext> {
  readonly registry: Registry;
  readonly context: RequestContext;
  readonly resource: ServedResource;
}
