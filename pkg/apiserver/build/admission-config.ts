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

import { dirname, resolve } from 'node:path';
import type { Dialect } from '#apimachinery/dialect.js';
import {
  decodeConfiguration,
  configurationOption as option,
  type PluginConfiguration,
} from '#apiserver/admission/configuration.js';
import { readOptionalFile } from '#apiserver/build/option-files.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { textOf } from '#daemon/certificates/followed-file.js';
import { type FieldTable, parseConfigText } from '#daemon/options/config-decode.js';

const fields: FieldTable = {
  apiVersion: 'string',
  kind: 'string',
  plugins: { listOf: { fields: { name: 'string', path: 'string', configuration: 'any' }, required: ['name'] } },
};

interface PluginEntry {
  readonly name: string;
  readonly path?: string;
  readonly configuration?: unknown;
}

/** The configurations by the names of their plugins; empty without the option. Throws OptionsError. */
export async function readAdmissionConfig(
  values: ApiServerValues,
  dialect: Dialect,
): Promise<ReadonlyMap<string, PluginConfiguration>> {
  const path = values[option];
  const text = await readOptionalFile(option, path);
  const configurations = new Map<string, PluginConfiguration>();
  if (path === undefined || text === undefined) return configurations;
  const versions = [dialect.apiServerConfigVersion];
  const file = { path, value: parseConfigText(text) };
  const { plugins = [] } = decodeConfiguration(file, { fields, kind: 'AdmissionConfiguration', versions });
  for (const plugin of plugins as readonly PluginEntry[]) {
    const own = await ownConfiguration(plugin, path);
    if (own !== undefined) configurations.set(plugin.name, own);
  }
  return configurations;
}

/** Paths are relative to the configuration file. */
async function ownConfiguration(
  { path, configuration }: PluginEntry,
  file: string,
): Promise<PluginConfiguration | undefined> {
  if (path === undefined || path === '')
    return configuration === undefined ? undefined : { path: file, value: configuration };
  const own = resolve(dirname(file), path);
  return { path: own, value: parseConfigText(await textOf(option, own)) };
}
