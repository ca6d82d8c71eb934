/** Signs requests to S3-compatible stores: AWS Signature Version 4 with headers. Pure. */
import { createHash, createHmac } from 'node:crypto';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary credentials. */
  readonly sessionToken?: string;
}

export interface UnsignedRequest {
  readonly method: string;
  readonly url: URL;
  /** Lower-case hex SHA-256 of the body. */
  readonly payloadHash: string;
  /** Further headers to sign, with lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Signing {
  readonly credentials: S3Credentials;
  readonly region: string;
  readonly now: Date;
}

const algorithm = 'AWS4-HMAC-SHA256';

/** SHA-256 of an empty body. */
export const emptyHash = sha256('');

/** All headers of the signed request. */
export function signedHeaders(request: UnsignedRequest, { credentials, region, now }: Signing): Record<string, string> {
  const time = now.toISOString().replace(/[-:]|\.\d+/g, '');
  const date = time.slice(0, 8);
  const { sessionToken } = credentials;
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.url.host,
    'x-amz-content-sha256': request.payloadHash,
    'x-amz-date': time,
    ...(sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }),
  };
  const names = Object.keys(headers).sort();
  const signedNames = names.join(';');
  const canonical = [
    request.method,
    request.url.pathname
      .split('/')
      .map((part) => encoded(decodeURIComponent(part)))
      .join('/'),
    canonicalQuery(request.url.searchParams),
    ...names.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    signedNames,
    request.payloadHash,
  ].join('\n');
  const scope = `${date}/${region}/s3/aws4_request`;
  const toSign = [algorithm, time, scope, sha256(canonical)].join('\n');
  const key = [date, region, 's3', 'aws4_request'].reduce<Buffer | string>(
    (above, part) => hmac(above, part),
    `AWS4${credentials.secretAccessKey}`,
  );
  const signature = hmac(key, toSign).toString('hex');
  const credential = `${credentials.accessKeyId}/${scope}`;
  return {
    ...headers,
    authorization: `${algorithm} Credential=${credential},SignedHeaders=${signedNames},Signature=${signature}`,
  };
}

/** The rules of S3: everything but letters, digits and `-._~` is escaped. */
export function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}

function canonicalQuery(query: URLSearchParams): string {
  const pairs = [...query].map(([name, value]) => [encoded(name), encoded(value)] as const);
  const order = (a: string, b: string) => Number(a > b) - Number(a < b);
  return pairs
    .sort(([a, x], [b, y]) => order(a, b) || order(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: Buffer | string, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
