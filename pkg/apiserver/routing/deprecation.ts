/** Warns clients of what will go away, in the words of release 1.24. */
import { type RequestContext, warn } from '#apiserver/http/context.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

export function warnOfDeprecation(
  { metrics }: Pick<RegistryContext, 'metrics'>,
  context: RequestContext,
  { declaration, group, apiVersion }: ServedResource,
): void {
  const { deprecation, kind } = declaration;
  if (deprecation === undefined) return;
  const { since, until, replacement } = deprecation;
  const gone = until === undefined ? '' : `, unavailable in v${until}+`;
  const instead = replacement === undefined ? '' : `; use ${group}/${replacement} ${kind}`;
  metrics.deprecated(context.info, until ?? '');
  warn(context, `${apiVersion} ${kind} is deprecated in v${since}+${gone}${instead}`);
}
