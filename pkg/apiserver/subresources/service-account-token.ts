/** `serviceaccounts/token` as the registry serves it. */

import type { TokenRequest } from '#api/authentication/v1/types.gen.js';
import { serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { badRequest, notFound } from '#apimachinery/errors/status.js';
import { warn } from '#apiserver/http/context.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { VirtualResource } from '#apiserver/resources/endpoints.js';
import type { TokenIssuer } from '#apiserver/serviceaccount/token-issuer.js';

export interface TokenRequestOptions {
  readonly issuer: TokenIssuer;
  readonly reader: ObjectReader;
}

export function tokenRequests({ issuer, reader }: TokenRequestOptions): VirtualResource {
  return {
    group: 'core',
    resource: 'serviceaccounts',
    subresource: 'token',
    async handle({ object, namespace, name, context }) {
      const request = object as unknown as TokenRequest;
      const asked = request.metadata?.name ?? '';
      if (asked !== '' && asked !== name)
        throw badRequest('the name in the request does not match the name in the URL');
      const account = await reader.get(serviceaccounts, namespace, name, 'latest');
      if (account === undefined) throw notFound({ group: '', resource: 'serviceaccounts' }, name);
      const spec = request.spec ?? { audiences: [] };
      const answer = await issuer.request(account, { ...request, spec }, (text) => warn(context, text));
      return answer as ApiObjectShape;
    },
  };
}
