/** Extenders in the scheduler's configuration file. */
import { formatDuration, parseDuration } from '#apimachinery/duration.js';
import { isPlain, type Plain } from '#daemon/options/config-decode.js';
import type { ExtenderSettings, ExtenderTls } from '#scheduler/extenders/settings.js';

/** Default of release 1.24; ms. */
const defaultTimeoutMs = 5000;

/** `config` has been decoded by the field table and is valid. */
export function extendersOf(config: Plain): ExtenderSettings[] {
  return plainItems(config['extenders']).map((extender) => {
    const string = (name: string) => nonEmpty(extender[name]);
    const httpTimeout = string('httpTimeout');
    const timeoutMs = httpTimeout === undefined ? 0 : parseDuration(httpTimeout);
    const tls = extender['tlsConfig'];
    return {
      urlPrefix: string('urlPrefix') ?? '',
      filterVerb: string('filterVerb'),
      prioritizeVerb: string('prioritizeVerb'),
      preemptVerb: string('preemptVerb'),
      bindVerb: string('bindVerb'),
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
    const text = nonEmpty(tls[name]);
    return text === undefined ? undefined : Buffer.from(text, 'base64').toString('utf8');
  };
  return {
    insecure: tls['insecure'] === true,
    serverName: nonEmpty(tls['serverName']),
    certFile: nonEmpty(tls['certFile']),
    keyFile: nonEmpty(tls['keyFile']),
    caFile: nonEmpty(tls['caFile']),
    certData: data('certData'),
    keyData: data('keyData'),
    caData: data('caData'),
  };
}

/** The extender as an object of the configuration file. `secrets`: include keys and the URL's password. */
export function extenderConfig(
  { enableHttps, timeoutMs, tls, urlPrefix, ...rest }: ExtenderSettings,
  secrets: boolean,
): object {
  return {
    urlPrefix: secrets ? urlPrefix : withoutPassword(urlPrefix),
    ...rest,
    enableHTTPS: enableHttps,
    httpTimeout: formatDuration(timeoutMs),
    ...(tls === undefined ? {} : { tlsConfig: tlsConfig(tls, secrets) }),
  };
}

function tlsConfig({ caData, certData, keyData, ...rest }: ExtenderTls, secrets: boolean): object {
  const base64 = (text: string | undefined) => (text === undefined ? undefined : Buffer.from(text).toString('base64'));
  return {
    ...rest,
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

/** Validation errors with field paths: the rules of release 1.24, plus a check of the URL. */
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
    const count = JSON.stringify(`found ${binding} extenders implementing bind`);
    errors.push(`extenders: Invalid value: ${count}: only one extender can implement bind`);
  }
  return errors;
}

function tlsErrors(tls: Plain, at: string): string[] {
  const has = (part: string) =>
    nonEmpty(tls[`${part}File`]) !== undefined || nonEmpty(tls[`${part}Data`]) !== undefined;
  const errors: string[] = [];
  for (const name of ['certData', 'keyData', 'caData']) {
    const text = nonEmpty(tls[name]);
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

/** Whether the resource's domain is not one of the system's own. */
const isExtendedResource = (name: string): boolean =>
  /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(name) &&
  !/(^|\.)(kubernetes|orch)\.io\//.test(name) &&
  !name.startsWith('requests.');

/** Undefined for empty strings too. */
const nonEmpty = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const plainItems = (list: unknown): Plain[] => (Array.isArray(list) ? list.filter(isPlain) : []);
