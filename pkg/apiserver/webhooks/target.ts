/** The target of a webhook's client configuration. Pure. */
import { posix } from 'node:path';
import type { WebhookClientConfig } from '#api/admissionregistration/v1/types.gen.js';
import type { Address, ServicePlace } from '#apiserver/service-routing/address.js';
import { WebhookCallError } from '#apiserver/webhooks/call-error.js';

export interface WebhookTarget extends Address {
  /** For messages: `https://hooks.shop.svc:443/check`. */
  readonly url: string;
  /** The `Host` header. */
  readonly authority: string;
  /** Begins with a slash. */
  readonly path: string;
  /** Name expected in the certificate. */
  readonly serverName: string;
  /** CA bundle (PEM); absent: the system's authorities. */
  readonly ca?: string;
  /** The Service to resolve; absent: `host` and `port` are the address. */
  readonly service?: ServicePlace;
}

const defaultPort = 443;

/**
 * The rules of 1.24 (`util/webhook/client.go`): a Service has the host name `NAME.NAMESPACE.svc`, whatever its address. Throws
 * WebhookCallError for an invalid configuration.
 */
export function targetOf(config: WebhookClientConfig): WebhookTarget {
  const ca = certificatesOf(config.caBundle);
  const { service, url } = config;
  if (service !== undefined) {
    const { namespace, name, path = '', port = defaultPort } = service;
    const serverName = `${name}.${namespace}.svc`;
    const authority = `${serverName}:${port}`;
    const rooted = requestPath(path);
    return {
      url: `https://${authority}${rooted}`,
      authority,
      path: rooted,
      serverName,
      host: serverName,
      port,
      service: { namespace, name, port },
      ...ca,
    };
  }
  if (url === undefined || url === '') {
    throw new WebhookCallError('unusable', 'webhook configuration must have either service or URL');
  }
  if (!URL.canParse(url)) throw new WebhookCallError('unusable', `Unparsable URL: ${JSON.stringify(url)}`);
  const { protocol, host, hostname, port, pathname } = new URL(url);
  const path = decoded(pathname);
  if (protocol !== 'https:' || path === undefined) {
    throw new WebhookCallError('unusable', `Unparsable URL: ${JSON.stringify(url)}`);
  }
  const bare = hostname.replace(/^\[|\]$/g, '');
  const rooted = requestPath(path);
  return {
    url: `https://${host}${rooted}`,
    authority: host,
    path: rooted,
    serverName: bare,
    host: bare,
    port: port === '' ? defaultPort : Number(port),
    ...ca,
  };
}

/** Decodes the path; undefined for invalid percent-encoding. */
function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/**
 * The request's path for a configured path. 1.24's client joins it to its root (`path.Join`), which removes empty elements, `.`,
 * `..` and a trailing slash. Go servers redirect other paths.
 */
function requestPath(path: string): string {
  const clean = posix.normalize(`/${path}`).replace(/(?<=.)\/$/, '');
  return encodeURI(clean).replace(/[?#!'()*]/g, percent);
}

const percent = (mark: string) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`;

function certificatesOf(bundle: string | undefined): { readonly ca?: string } {
  if (bundle === undefined || bundle === '') return {};
  const ca = Buffer.from(bundle, 'base64').toString('latin1');
  if (!ca.includes('-----BEGIN CERTIFICATE-----')) {
    throw new WebhookCallError('unusable', 'unable to load root certificates: unable to parse bytes as PEM block');
  }
  return { ca };
}
