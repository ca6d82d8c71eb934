/** `serviceaccounts/token` as the registry serves it. */

import type { TokenRequest } from '#api/authentication/v1/types.gen.js';
import { serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { badRequest, notFound } from '#apimachinery/errors/status.js';
import type { AdmissionPlugin } from '#apiserver/admission/admission.js';
import { warn } from '#apiserver/http/context.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { VirtualResource } from '#apiserver/resources/endpoints.js';
import type { TokenIssuer } from '#apiserver/serviceaccount/token-issuer.js';

export interface TokenRequestOptions {
  readonly issuer: TokenIssuer;
  readonly reader: ObjectReader;
  /** Nodes get tokens for their own pods only: admission says so. */
  readonly admission: readonly AdmissionPlugin[];
}

export function tokenRequests({ issuer, reader, admission }: TokenRequestOptions): VirtualResource {
  return {
    group: 'core',
    resource: 'serviceaccounts',
    subresource: 'token',
    async handle({ object, namespace, name, dryRun, context }) {
      const request = object as unknown as TokenRequest;
      const asked = request.metadata?.name ?? '';
      if (asked !== '' && asked !== name)
        throw badRequest('the name in the request does not match the name in the URL');
      const account = await reader.get(serviceaccounts, namespace, name, 'latest');
      if (account === undefined) throw notFound({ group: '', resource: 'serviceaccounts' }, name);
      const attributes = {
        operation: 'CREATE' as const,
        resource: serviceaccounts,
        subresource: 'token',
        namespace,
        name,
        user: context.user,
        dryRun,
        object,
        warn: (text: string) => warn(context, text),
        // Nothing is written.
        require: () => undefined,
      };
      const plugins = admission.filter((plugin) => plugin.handles(attributes));
      for (const plugin of plugins) await plugin.admit?.(attributes);
      for (const plugin of plugins) await plugin.validate?.(attributes);
      const spec = request.spec ?? { audiences: [] };
      const answer = await issuer.request(account, { ...request, spec }, attributes.warn);
      return answer as ApiObjectShape;
    },
  };
}
