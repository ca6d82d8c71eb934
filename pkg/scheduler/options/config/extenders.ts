/** The extenders of a scheduler's configuration file. */
import { formatDuration, parseDuration } from '#apimachinery/duration.js';
import { isPlain, type Plain } from '#daemon/options/config-decode.js';
import type { ExtenderSettings, ExtenderTls } from '#scheduler/extenders/settings.js';

/** Release 1.24's, for extenders that say nothing of it; ms. */
const defaultTimeoutMs = 5000;

/** `config` is decoded by the table of fields and without errors. */
export function extendersOf(config: Plain): ExtenderSettings[] {
  return plainItems(config['extenders']).map((extender) => {
    const text = (name: string) => textOf(extender[name]);
    const httpTimeout = text('httpTimeout');
    const timeoutMs = httpTimeout === undefined ? 0 : parseDuration(httpTimeout);
    const tls = extender['tlsConfig'];
    return {
      urlPrefix: text('urlPrefix') ?? '',
      filterVerb: text('filterVerb'),
      prioritizeVerb: text('prioritizeVerb'),
      preemptVerb: text('preemptVerb'),
      bindVerb: text('bindVerb'),
      weight: Number(extender['weight'] ?? 0),
      enableHttps: extender['enableHTTPS'] === true,
      tls: isPlain(tls) ? tlsOf(tls) : undefined,
      timeoutMs: timeoutMs === 0 ? defaultTimeoutMs : timeoutMs,
      nodeCacheCapable: extender['nodeCacheCapable'] === true,
      managedResources: plainItems(extender['managedResources']).map(({ ignoredByScheduler, name }) => ({
        name: String(name),
        ignoredByScheduler: ignoredByScheduler === true,
      })),
      ignorable: extender['ignorable'] === true,
    };
  });
}

function tlsOf(tls: Plain): ExtenderTls {
  const data = (name: string) => {
    const text = textOf(tls[name]);
    return text === undefined ? undefined : Buffer.from(text, 'base64').toString('utf8');
  };
  return {
    insecure: tls['insecure'] === true,
    serverName: textOf(tls['serverName']),
    certFile: textOf(tls['certFile']),
    keyFile: textOf(tls['keyFile']),
    caFile: textOf(tls['caFile']),
    certData: data('certData'),
    keyData: data('keyData'),
    caData: data('caData'),
  };
}

/** The object of a configuration file that says the same. `secrets`: with the key, and the password of the URL. */
export function extenderConfig(
  { enableHttps, timeoutMs, tls, urlPrefix, ...same }: ExtenderSettings,
  secrets: boolean,
): object {
  return {
    urlPrefix: secrets ? urlPrefix : withoutPassword(urlPrefix),
    ...same,
    enableHTTPS: enableHttps,
    httpTimeout: formatDuration(timeoutMs),
    ...(tls === undefined ? {} : { tlsConfig: tlsConfig(tls, secrets) }),
  };
}

function tlsConfig({ caData, certData, keyData, ...same }: ExtenderTls, secrets: boolean): object {
  const base64 = (text: string | undefined) => (text === undefined ? undefined : Buffer.from(text).toString('base64'));
  return {
    ...same,
    caData: base64(caData),
    certData: base64(certData),
    keyData: secrets || keyData === undefined ? base64(keyData) : hidden,
  };
}

const hidden = '--- REDACTED ---';

function withoutPassword(text: string): string {
  const url = new URL(text);
  if (url.password !== '') url.password = 'REDACTED';
  return url.password === '' ? text : url.href;
}

/** One message per violation, each with the field's path in front. Rules of release 1.24, and that the URL is one. */
export function extenderErrors(extenders: unknown): string[] {
  const errors: string[] = [];
  const managed = new Set<unknown>();
  let binding = 0;
  for (const [i, extender] of plainItems(extenders).entries()) {
    const at = `extenders[${i}]`;
    const { bindVerb = '', httpTimeout, managedResources, prioritizeVerb = '', urlPrefix = '', weight = 0 } = extender;
    if (prioritizeVerb !== '' && Number(weight) <= 0) {
      errors.push(`${at}.weight: Invalid value: ${weight}: must have a positive weight applied to it`);
    }
    if (bindVerb !== '') binding++;
    if (!isHttpUrl(String(urlPrefix))) errors.push(`${at}.urlPrefix: Invalid value: must be an http or https URL`);
    if (httpTimeout !== undefined && parseDuration(String(httpTimeout)) < 0) {
      errors.push(`${at}.httpTimeout: Invalid value: ${JSON.stringify(httpTimeout)}: must not be negative`);
    }
    for (const [j, { name }] of plainItems(managedResources).entries()) {
      const field = `${at}.managedResources[${j}].name: Invalid value: ${JSON.stringify(name)}`;
      if (!isExtendedResource(String(name))) errors.push(`${field}: is an invalid extended resource name`);
      if (managed.has(name)) errors.push(`${field}: duplicate extender managed resource name`);
      managed.add(name);
    }
    if (isPlain(extender['tlsConfig'])) errors.push(...tlsErrors(extender['tlsConfig'], `${at}.tlsConfig`));
  }
  if (binding > 1) {
    const found = JSON.stringify(`found ${binding} extenders implementing bind`);
    errors.push(`extenders: Invalid value: ${found}: only one extender can implement bind`);
  }
  return errors;
}

function tlsErrors(tls: Plain, at: string): string[] {
  const has = (part: string) => textOf(tls[`${part}File`]) !== undefined || textOf(tls[`${part}Data`]) !== undefined;
  const errors: string[] = [];
  for (const name of ['certData', 'keyData', 'caData']) {
    const text = textOf(tls[name]);
    if (text !== undefined && !/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(text)) errors.push(`${at}.${name}: must be base64`);
  }
  if (tls['insecure'] === true && has('ca')) {
    errors.push(`${at}: specifying a root certificates file with the insecure flag is not allowed`);
  }
  if (has('cert') !== has('key')) errors.push(`${at}: a certificate and its key go together`);
  return errors;
}

function isHttpUrl(text: string): boolean {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  return protocol === 'http:' || protocol === 'https:';
}

/** Of a domain that is not the system's own. */
const isExtendedResource = (name: string): boolean =>
  /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(name) &&
  !/(^|\.)(kubernetes|orch)\.io\//.test(name) &&
  !name.startsWith('requests.');

/** Empty says the same as absent. */
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

const plainItems = (list: unknown): Plain[] => (Array.isArray(list) ? list.filter(isPlain) : []);
