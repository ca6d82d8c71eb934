/**
 * The configuration file of admission plugins (`AdmissionConfiguration` of version v1). A plugin's configuration is in the file
 * itself or in another file:
 *
 * ```yaml
 * apiVersion: apiserver.config.orch.io/v1
 * kind: AdmissionConfiguration
 * plugins:
 *   - name: ResourceQuota
 *     configuration:
 *       apiVersion: apiserver.config.orch.io/v1
 *       kind: ResourceQuotaConfiguration
 *       limitedResources:
 *         - resource: persistentvolumeclaims
 *           matchContains: [.storageclass.storage.orch.io/requests.storage]
 *         - resource: pods
 *           matchScopes: [{ scopeName: PriorityClass, operator: In, values: [cluster-services] }]
 * ```
 */

import { dirname, isAbsolute, resolve } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { LimitedResource } from '#apiserver/admission/quota-check.js';
import { readOptionalFile } from '#apiserver/build/option-files.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { WebhookCredentials, WebhookUser } from '#apiserver/webhooks/credentials.js';
import { inlineOrFile, KubeconfigError, parseKubeconfig, type User } from '#client/kubeconfig/file.js';
import { withAbsolutePaths } from '#client/kubeconfig/merge.js';
import { credentialsOf } from '#client/kubeconfig/user-credentials.js';
import { readFromDisk } from '#daemon/certificates/certificate-files.js';
import { textOf } from '#daemon/certificates/followed-file.js';
import { decodeFields, type FieldTable, isPlain, type Plain, parseConfigText } from '#daemon/options/config-decode.js';
import { OptionsError } from '#daemon/options/option.js';
import { FileTls } from '#http/client/credentials.js';

const option = 'admission-control-config-file';

export interface AdmissionConfig {
  /** Resources that need a quota. */
  readonly limitedByQuota: readonly LimitedResource[];
  /** Credentials for webhooks, by plugin. */
  readonly webhookCredentials: ReadonlyMap<string, WebhookCredentials>;
  /** Plugins that the file configures although they take no configuration. */
  readonly unconfigurable: readonly string[];
}

const fileFields: FieldTable = {
  apiVersion: 'string',
  kind: 'string',
  plugins: { listOf: { fields: { name: 'string', path: 'string', configuration: 'any' }, required: ['name'] } },
};

const quotaFields: FieldTable = {
  apiVersion: 'string',
  kind: 'string',
  limitedResources: {
    listOf: {
      fields: {
        apiGroup: 'string',
        resource: 'string',
        matchContains: { listOf: 'string' },
        matchScopes: {
          listOf: { fields: { scopeName: 'string', operator: 'string', values: { listOf: 'string' } } },
        },
      },
    },
  },
};

const webhookPlugins: ReadonlySet<string> = new Set(['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook']);

const webhookFields: FieldTable = { apiVersion: 'string', kind: 'string', kubeConfigFile: 'string' };

interface PluginEntry {
  readonly name: string;
  readonly path?: string;
  readonly configuration?: unknown;
}

/** Empty without the option. Throws OptionsError. */
export async function readAdmissionConfig(
  values: ApiServerValues,
  dialect: Dialect,
  clock: Clock,
): Promise<AdmissionConfig> {
  const path = values[option];
  const text = await readOptionalFile(option, path);
  if (path === undefined || text === undefined)
    return { limitedByQuota: [], webhookCredentials: new Map(), unconfigurable: [] };
  const file = decoded(path, parseConfigText, text, { fields: fileFields, kind: 'AdmissionConfiguration', dialect });
  const plugins = (file['plugins'] ?? []) as readonly PluginEntry[];
  const limitedByQuota: LimitedResource[] = [];
  for (const plugin of plugins.filter(({ name }) => name === 'ResourceQuota')) {
    const own = await ownConfiguration(plugin, path);
    if (own === undefined) continue;
    const as = { fields: quotaFields, kind: 'ResourceQuotaConfiguration', dialect };
    limitedByQuota.push(...limitedOf(decoded(own.path, plain, own.configuration, as), own.path));
  }
  const credentials = new Map<string, WebhookCredentials>();
  for (const plugin of plugins.filter(({ name }) => webhookPlugins.has(name))) {
    const own = await ownConfiguration(plugin, path);
    if (own === undefined) continue;
    const as = { fields: webhookFields, kind: 'WebhookAdmissionConfiguration', dialect };
    const { kubeConfigFile = '' } = decoded(own.path, plain, own.configuration, as) as { kubeConfigFile?: string };
    if (kubeConfigFile === '') continue;
    if (!isAbsolute(kubeConfigFile)) {
      const why = `kubeConfigFile: Invalid value: ${JSON.stringify(kubeConfigFile)}: must be an absolute file path`;
      failFor(own.path, [why]);
    }
    const kubeconfig = { path: kubeConfigFile, text: await textOf(option, kubeConfigFile), clock };
    credentials.set(plugin.name, webhookCredentials(option, kubeconfig));
  }
  const unconfigurable = plugins
    .map(({ name }) => name)
    .filter((name) => name !== 'ResourceQuota' && !webhookPlugins.has(name));
  return { limitedByQuota, webhookCredentials: credentials, unconfigurable };
}

/** The plugin's configuration, and the file that contains it; paths are relative to the configuration file. */
async function ownConfiguration(
  { path, configuration }: PluginEntry,
  file: string,
): Promise<{ readonly path: string; readonly configuration: unknown } | undefined> {
  if (path === undefined || path === '') return configuration === undefined ? undefined : { path: file, configuration };
  const own = resolve(dirname(file), path);
  return { path: own, configuration: parseConfigText(await textOf(option, own)) };
}

interface Expected {
  readonly fields: FieldTable;
  readonly kind: string;
  readonly dialect: Dialect;
}

function decoded<T>(path: string, read: (source: T) => Plain, source: T, { fields, kind, dialect }: Expected): Plain {
  const errors: string[] = [];
  const value = read(source);
  const result = decodeFields(fields, value, errors);
  const version = dialect.apiServerConfigVersion;
  if (value['apiVersion'] !== version || value['kind'] !== kind) {
    errors.unshift(`got unexpected config type: apiVersion must be "${version}" and kind "${kind}"`);
  }
  failFor(path, errors);
  return result;
}

function plain(value: unknown): Plain {
  if (!isPlain(value)) throw new OptionsError(['must be an object']);
  return value;
}

function limitedOf(config: Plain, path: string): LimitedResource[] {
  const limited = (config['limitedResources'] ?? []) as readonly Partial<LimitedResource>[];
  failFor(
    path,
    limited.flatMap(({ resource = '' }, i) =>
      resource === '' ? [`limitedResources[${i}].resource: Required value`] : [],
    ),
  );
  return limited.map(({ apiGroup = '', resource = '', matchContains = [], matchScopes = [] }) => ({
    apiGroup,
    resource,
    matchContains,
    matchScopes,
  }));
}

function failFor(path: string, errors: readonly string[]): void {
  if (errors.length > 0) throw new OptionsError(errors.map((error) => `--${option}: ${path}: ${error}`));
}

/** The users of a kubeconfig file (`WebhookAdmissionConfiguration`). Throws OptionsError. */
function webhookCredentials(
  option: string,
  { path, text, clock }: { readonly path: string; readonly text: string; readonly clock: Clock },
): WebhookCredentials {
  try {
    const config = withAbsolutePaths(parseKubeconfig(text, path), dirname(path), path);
    const users = new Map(config.users.map(({ name, user }) => [name, userOf(user, { name, source: path, clock })]));
    const context = config.contexts.find(({ name }) => name === config['current-context']);
    return { users, current: users.get(context?.context.user ?? '') };
  } catch (error) {
    if (error instanceof KubeconfigError) throw new OptionsError([`--${option}: ${error.message}`]);
    throw error;
  }
}

/** Like 1.24, supports no credential plugins here. */
function userOf(
  user: User,
  { name, source, clock }: { readonly name: string; readonly source: string; readonly clock: Clock },
): WebhookUser {
  if (user.exec !== undefined || user['auth-provider'] !== undefined) {
    throw new KubeconfigError(
      `${source}: user ${JSON.stringify(name)}: expected fixed credentials; webhooks support no credential plugins`,
    );
  }
  const { token, headers } = credentialsOf(user, {
    name,
    source,
    file: undefined,
    clock,
    readFile: readFromDisk,
    env: {},
    plugins: undefined,
    metrics: undefined,
    proxy: undefined,
    cluster: { server: '' },
  });
  const [certificate, key] = [inlineOrFile(user, 'client-certificate'), inlineOrFile(user, 'client-key')];
  const tls = new FileTls({
    inline: { cert: certificate.inline, key: key.inline },
    files: { cert: certificate.file, key: key.file },
    clock,
  });
  return { tls, token, headers };
}
