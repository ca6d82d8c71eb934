/** Where a webhook is, out of its client configuration. Pure. */
import { posix } from 'node:path';
import type { WebhookClientConfig } from '#api/admissionregistration/v1/types.gen.js';
import type { Address, ServicePlace } from '#apiserver/service-routing/address.js';
import { WebhookCallError } from '#apiserver/webhooks/call-error.js';

export interface WebhookTarget extends Address {
  /** As messages show it: `https://hooks.shop.svc:443/check`. */
  readonly url: string;
  /** Of the `Host` header. */
  readonly authority: string;
  /** Of the URL: begins with a slash. */
  readonly path: string;
  /** Whom the certificate has to be of. */
  readonly serverName: string;
  /** PEM of the authorities that vouch for it; absent: those of the system. */
  readonly ca?: string;
  /** To be resolved to an address; absent: `host` and `port` are the address. */
  readonly service?: ServicePlace;
}

const defaultPort = 443;

/**
 * The rules of 1.24 (`util/webhook/client.go`): a Service is called by the name `NAME.NAMESPACE.svc`, wherever it is. Throws
 * WebhookCallError for a configuration that leads nowhere.
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

/** Undefined for a path that is not percent-encoded. */
function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/**
 * The path that a request has for that of a configuration: 1.24's client joins it to its root (`path.Join`), which takes
 * out empty elements, `.` and `..`, and the slash at the end. Servers in Go answer paths that are not so with a redirection.
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
