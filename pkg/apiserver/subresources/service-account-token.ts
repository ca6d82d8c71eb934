/** `serviceaccounts/token`: issues tokens of service accounts. */

import type { TokenRequest } from '#api/authentication/v1/types.gen.js';
import { serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { invalid, notFound } from '#apimachinery/errors/status.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { warn } from '#apiserver/http/request-context.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { VirtualResource } from '#apiserver/resources/endpoints.js';
import type { TokenIssuer } from '#apiserver/serviceaccount/token-issuer.js';

export interface TokenRequestOptions {
  readonly dialect: Dialect;
  readonly issuer: TokenIssuer;
  readonly reader: ObjectReader;
}

const namePath = FieldPath.of('metadata', 'name');

export function tokenRequests({ dialect, issuer, reader }: TokenRequestOptions): VirtualResource {
  return {
    group: 'core',
    resource: 'serviceaccounts',
    subresource: 'token',
    async handle({ object, namespace, name, context }) {
      const request = object as unknown as TokenRequest;
      const requestedName = request.metadata?.name ?? '';
      if (requestedName !== '' && requestedName !== name) {
        const failure = invalidValue(namePath, requestedName, 'must match the service account name if specified');
        throw invalid({ group: dialect.groupName('authentication'), kind: 'TokenRequest' }, name, [failure]);
      }
      const account = await reader.get(serviceaccounts, namespace, name, 'latest');
      if (account === undefined) throw notFound({ group: '', resource: 'serviceaccounts' }, name);
      const spec = request.spec ?? { audiences: [] };
      const answer = await issuer.request(account, { ...request, spec }, (text) => warn(context, text));
      return answer as ApiObjectShape;
    },
  };
}
