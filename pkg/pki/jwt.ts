/** JSON Web Tokens (RFC 7519) of service accounts: RS256 and ECDSA only. */
import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

export type JwtClaims = Readonly<Record<string, unknown>>;

/** A key that signs or verifies tokens. */
export interface JwtKey {
  /** Written into the header, by which verifiers select the key. */
  readonly keyId: string;
  readonly algorithm: 'RS256' | 'ES256' | 'ES384' | 'ES512';
  readonly publicKey: KeyObject;
}

export interface JwtSigningKey extends JwtKey {
  readonly privateKey: KeyObject;
}

const curveAlgorithms: Readonly<Record<string, JwtKey['algorithm']>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};
const hashes: Record<JwtKey['algorithm'], string> = {
  RS256: 'sha256',
  ES256: 'sha256',
  ES384: 'sha384',
  ES512: 'sha512',
};

/** The verifying key of a public key. Throws RangeError for a key that is neither RSA nor on a NIST curve. */
export function jwtKey(publicKey: KeyObject): JwtKey {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = publicKey;
  const algorithm = type === 'rsa' ? 'RS256' : curveAlgorithms[details?.namedCurve ?? ''];
  if (algorithm === undefined) throw new RangeError(`cannot use a key of type ${String(type)} for tokens`);
  const keyId = createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url');
  return { keyId, algorithm, publicKey };
}

export function jwtSigningKey(privateKey: KeyObject): JwtSigningKey {
  return { ...jwtKey(createPublicKey(privateKey)), privateKey };
}

/** The signed token in compact form. */
export function signJwt(key: JwtSigningKey, claims: JwtClaims): string {
  const body = `${encode({ alg: key.algorithm, kid: key.keyId })}.${encode(claims)}`;
  const signature = sign(hashes[key.algorithm], Buffer.from(body), { key: key.privateKey, dsaEncoding: 'ieee-p1363' });
  return `${body}.${signature.toString('base64url')}`;
}

/** Header and claims, unverified; undefined when the text is no token. */
export function readJwt(token: string): { header: JwtClaims; claims: JwtClaims } | undefined {
  const parts = token.split('.');
  const [header, claims] = parts.slice(0, 2).map(decode);
  return parts.length !== 3 || header === undefined || claims === undefined ? undefined : { header, claims };
}

/** The claims of a token that one of the keys has signed; undefined otherwise. The key determines the algorithm, not the token. */
export function verifyJwt(keys: readonly JwtKey[], token: string): JwtClaims | undefined {
  const parts = readJwt(token);
  if (parts === undefined) return undefined;
  const dot = token.lastIndexOf('.');
  const body = Buffer.from(token.slice(0, dot));
  const signature = Buffer.from(token.slice(dot + 1), 'base64url');
  const { alg, kid } = parts.header;
  const matches = keys.filter((key) => key.keyId === kid);
  const signed = (matches.length > 0 ? matches : keys).some(
    ({ algorithm, publicKey }) =>
      algorithm === alg && verify(hashes[algorithm], body, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature),
  );
  return signed ? parts.claims : undefined;
}

const encode = (value: JwtClaims): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function decode(part: string): JwtClaims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JwtClaims) : undefined;
  } catch {
    // The text may be a token of another kind, which the caller tries next.
    return undefined;
  }
}
