/** Plain paths besides those of the API server itself: the discovery of its token issuer. */
import type { AuthenticationParts } from '#apiserver/config/authentication.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { configurationPath, issuerDiscovery, jwksPath } from '#apiserver/serviceaccount/discovery.js';

/** Empty when the issuer cannot be discovered. */
export function discoveryPaths(
  values: ApiServerValues,
  { issuerName, keys }: Pick<AuthenticationParts, 'issuerName' | 'keys'>,
): Record<string, () => Promise<ApiResponse>> {
  const jwksUri = values['service-account-jwks-uri'] ?? '';
  const documents = issuerDiscovery({ issuer: issuerName, keys, ...(jwksUri === '' ? {} : { jwksUri }) });
  if (documents === undefined) return {};
  const answer = (contentType: string, body: Buffer) => () =>
    Promise.resolve({
      status: 200,
      headers: { 'content-type': contentType, 'cache-control': 'public, max-age=3600' },
      body,
    });
  return {
    [configurationPath]: answer('application/json', documents.configuration),
    [jwksPath]: answer('application/jwk-set+json', documents.jwks),
  };
}
