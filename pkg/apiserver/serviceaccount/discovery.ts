/** OpenID Connect discovery, by which other systems verify this cluster's service account tokens. */
import type { JwtKey } from '#pki/jwt.js';

export interface IssuerDiscovery {
  readonly configuration: Buffer;
  readonly jwks: Buffer;
}

export const configurationPath = '/.well-known/openid-configuration';
export const jwksPath = '/openid/v1/jwks';

export interface IssuerDiscoveryOptions {
  readonly issuer: string;
  readonly keys: readonly JwtKey[];
  /** Where the keys are served; absent: `jwksPath` below the issuer. */
  readonly jwksUri?: string;
}

/** Undefined unless the issuer is an https URL, as the standard requires. */
export function issuerDiscovery(options: IssuerDiscoveryOptions): IssuerDiscovery | undefined {
  const { issuer, keys } = options;
  if (!issuer.startsWith('https://') || !URL.canParse(issuer) || new URL(issuer).search !== '') return undefined;
  const jwksUri = options.jwksUri ?? `${issuer.replace(/\/$/, '')}${jwksPath}`;
  const configuration = {
    issuer,
    jwks_uri: jwksUri,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...new Set(keys.map((key) => key.algorithm))],
  };
  return {
    configuration: Buffer.from(JSON.stringify(configuration)),
    jwks: Buffer.from(JSON.stringify({ keys: keys.map(publicJwk) })),
  };
}

function publicJwk(key: JwtKey): Record<string, unknown> {
  return { use: 'sig', kid: key.keyId, alg: key.algorithm, ...key.publicKey.export({ format: 'jwk' }) };
}
