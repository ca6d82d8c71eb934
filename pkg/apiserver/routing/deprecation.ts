/** Warns clients of what will go away, in the words of release 1.24. */

import { acceptsAny } from '#apimachinery/codec/negotiate.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { type RequestContext, warn } from '#apiserver/http/context.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { isPatchType } from '#apiserver/registry/patch-body.js';

/** Not of requests that the router of 1.24 refuses: for the media types that they take, or that their patches have. */
export function warnOfDeprecation({ registry, context, resource }: Operation): void {
  const { declaration, group, apiVersion, deprecationWarning } = resource;
  const { deprecation, kind } = declaration;
  if (deprecationWarning === undefined && deprecation === undefined) return;
  const { info, request } = context;
  const { headers } = request;
  if (!acceptsAny(headers['accept'], registry.dialect)) return;
  if (info.verb === 'patch' && !isPatchType(headers['content-type'])) return;
  if (deprecationWarning !== undefined) {
    registry.metrics.deprecated(context.info, '');
    note(registry.dialect, context, undefined);
    warn(context, deprecationWarning);
    return;
  }
  if (deprecation === undefined) return;
  const { since, until, replacement } = deprecation;
  const gone = until === undefined ? '' : `, unavailable in v${until}+`;
  const instead = replacement === undefined ? '' : `; use ${group}/${replacement} ${kind}`;
  registry.metrics.deprecated(context.info, until ?? '');
  note(registry.dialect, context, until);
  warn(context, `${apiVersion} ${kind} is deprecated in v${since}+${gone}${instead}`);
}

function note({ apiDomain }: Dialect, { audit }: RequestContext, until: string | undefined): void {
  audit?.annotate(`${apiDomain}/deprecated`, 'true');
  if (until !== undefined) audit?.annotate(`${apiDomain}/removed-release`, until);
}
