/** Reads the file of --image-credential-provider-config (specification 3, 2.2; KEP-2133). */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { parseDuration } from '#apimachinery/duration.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { decodeFields, type FieldTable, parseConfigText } from '#daemon/options/config-decode.js';
import { OptionsError } from '#daemon/options/option.js';

export interface CredentialProvider {
  /** The plugin's path. */
  readonly path: string;
  readonly name: string;
  readonly matchImages: readonly string[];
  readonly defaultCacheMs: number;
  /** Version of requests to the plugin and of its responses. */
  readonly apiVersion: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const table: FieldTable = {
  apiVersion: 'string',
  kind: 'string',
  providers: {
    listOf: {
      fields: {
        name: 'string',
        matchImages: { listOf: 'string' },
        defaultCacheDuration: 'duration',
        apiVersion: 'string',
        args: { listOf: 'string' },
        env: { listOf: { fields: { name: 'string', value: 'string' }, required: ['name', 'value'] } },
      },
      required: ['name', 'matchImages', 'defaultCacheDuration', 'apiVersion'],
    },
  },
};

interface File {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly providers?: readonly {
    readonly name: string;
    readonly matchImages: readonly string[];
    readonly defaultCacheDuration: string;
    readonly apiVersion: string;
    readonly args?: readonly string[];
    readonly env?: readonly { readonly name: string; readonly value: string }[];
  }[];
}

const versions = ['v1alpha1', 'v1beta1'];

/** Versions in both dialects, so that plugins written for either work. */
function apiVersions(group: (dialect: Dialect) => string): string[] {
  return [orchDialect, kubernetesDialect].flatMap((dialect) => versions.map((each) => `${group(dialect)}/${each}`));
}

const configVersions = apiVersions(({ components, apiDomain }) => `${components.nodeAgent}.config.${apiDomain}`);
const requestVersions = apiVersions(
  ({ components, apiDomain }) => `credentialprovider.${components.nodeAgent}.${apiDomain}`,
);

function nameErrors(name: string): string[] {
  if (name === '') return ['name is required'];
  if (name === '.' || name === '..') return [`name must not be ${JSON.stringify(name)}`];
  if (name.includes(' ')) return ['name must not contain spaces'];
  return name.includes('/') ? ['name must not contain path separators'] : [];
}

function fileErrors({ apiVersion = '', kind = '', providers = [] }: File): string[] {
  const errors: string[] = [];
  if (!configVersions.includes(apiVersion) || kind !== 'CredentialProviderConfig') {
    errors.push(`apiVersion and kind must be CredentialProviderConfig of ${configVersions.join(' or ')}`);
  }
  if (providers.length === 0) errors.push('providers: Required value: at least 1 item in plugins is required');
  for (const [i, provider] of providers.entries()) {
    const at = `providers[${i}]`;
    errors.push(...nameErrors(provider.name).map((text) => `${at}.name: Invalid value: ${text}`));
    if (!requestVersions.includes(provider.apiVersion)) {
      errors.push(`${at}.apiVersion: Unsupported value: "${provider.apiVersion}": use ${requestVersions.join(' or ')}`);
    }
    if (provider.matchImages.length === 0) errors.push(`${at}.matchImages: Required value: at least one is needed`);
    for (const [n, entry] of provider.matchImages.entries()) {
      if (!/^[^\s/:]+(:[0-9]+)?(\/\S*)?$/.test(entry))
        errors.push(`${at}.matchImages[${n}]: Invalid value: ${JSON.stringify(entry)}: must be host[:port][/path]`);
    }
    if (parseDuration(provider.defaultCacheDuration) < 0)
      errors.push(`${at}.defaultCacheDuration: Invalid value: must be greater than or equal to 0`);
  }
  return errors;
}

/** The providers in a configuration file's text. Throws OptionsError. */
export function parseProviders(text: string, binDir: string): CredentialProvider[] {
  const errors: string[] = [];
  const file = decodeFields(table, parseConfigText(text), errors) as File;
  // These rules need valid types.
  if (errors.length === 0) errors.push(...fileErrors(file));
  if (errors.length > 0) throw new OptionsError(errors);
  return (file.providers ?? []).map(({ name, matchImages, defaultCacheDuration, apiVersion, args = [], env = [] }) => ({
    path: join(binDir, name),
    ...{ name, matchImages, apiVersion, args },
    defaultCacheMs: parseDuration(defaultCacheDuration),
    env: Object.fromEntries(env.map((variable) => [variable.name, variable.value])),
  }));
}

/** Throws OptionsError if the file is missing or invalid, or the directory is missing. */
export async function readProviders(configPath: string, binDir: string): Promise<CredentialProvider[]> {
  const failed = (what: string) => new OptionsError([`--image-credential-provider-${what}`]);
  const isDirectory = await stat(binDir).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  if (!isDirectory) throw failed(`bin-dir: plugin binary directory ${binDir} did not exist`);
  try {
    return parseProviders(await readFile(configPath, 'utf8'), binDir);
  } catch (error) {
    if (error instanceof OptionsError) {
      throw new OptionsError(error.messages.map((message) => `${configPath}: ${message}`));
    }
    throw failed(`config: cannot read ${configPath}: ${messageOf(error)}`);
  }
}
