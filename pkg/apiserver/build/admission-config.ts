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
  configurationError,
  decodeConfiguration,
  configurationOption as option,
  type PluginConfiguration,
} from '#apiserver/admission/configuration.js';
import { imagePolicyMember } from '#apiserver/admission/image-policy/configuration.js';
import { nodeSelectorMember } from '#apiserver/admission/pod-node-selector.js';
import { readOptionalFile } from '#apiserver/build/option-files.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { textOf } from '#daemon/certificates/followed-file.js';
import { type FieldTable, type Plain, parseConfigText } from '#daemon/options/config-decode.js';
import { OptionsError } from '#daemon/options/option.js';

const fields: FieldTable = {
  apiVersion: 'string',
  kind: 'string',
  // Not a part of the kind, but common in files, and 1.24 does not refuse it.
  metadata: 'any',
  plugins: { listOf: { fields: { name: 'string', path: 'string', configuration: 'any' }, required: ['name'] } },
};

interface PluginEntry {
  readonly name: string;
  readonly path?: string;
  readonly configuration?: unknown;
}

/**
 * The configurations by the names of their plugins; empty without the option. Files of plugins for which `runs` is false are not
 * read, and these configurations are empty. Throws OptionsError.
 */
export async function readAdmissionConfig(
  values: ApiServerValues,
  dialect: Dialect,
  runs: (plugin: string) => boolean,
): Promise<ReadonlyMap<string, PluginConfiguration>> {
  const path = values[option];
  const text = await readOptionalFile(option, path);
  const configurations = new Map<string, PluginConfiguration>();
  if (path === undefined || text === undefined) return configurations;
  const file = { path, value: parsed(path, text) };
  const unversioned = unversionedPlugins(file.value);
  if (unversioned.length > 0) return new Map(unversioned.map((plugin) => [plugin, file]));
  const versions = [dialect.apiServerConfigVersion, dialect.apiServerAlphaVersion];
  const { plugins = [] } = decodeConfiguration(file, { fields, kind: 'AdmissionConfiguration', versions });
  const seen = new Set<string>();
  for (const plugin of plugins as readonly PluginEntry[]) {
    // As in 1.24, only the first entry of a plugin counts.
    if (seen.has(plugin.name)) continue;
    seen.add(plugin.name);
    const own = runs(plugin.name) ? await ownConfiguration(plugin, path) : { path, value: undefined };
    if (own !== undefined) configurations.set(plugin.name, own);
  }
  return configurations;
}

/** The plugins whose unversioned configuration the whole file is, as in releases before configuration files had versions. */
function unversionedPlugins(value: Plain): readonly string[] {
  if (value['apiVersion'] !== undefined || value['kind'] !== undefined) return [];
  return [...unversioned].filter(([member]) => value[member] !== undefined).map(([, plugin]) => plugin);
}

const unversioned: ReadonlyMap<string, string> = new Map([
  [imagePolicyMember, 'ImagePolicyWebhook'],
  [nodeSelectorMember, 'PodNodeSelector'],
]);

/** A configuration in the file itself comes first, as in 1.24. Paths are relative to the file. */
async function ownConfiguration(
  { path = '', configuration }: PluginEntry,
  file: string,
): Promise<PluginConfiguration | undefined> {
  if (configuration !== undefined) return { path: file, value: configuration };
  if (path === '') return undefined;
  const own = resolve(dirname(file), path);
  return { path: own, value: parsed(own, await textOf(option, own)) };
}

/** Errors name the option and the file. */
function parsed(path: string, text: string): Plain {
  try {
    return parseConfigText(text);
  } catch (error) {
    throw error instanceof OptionsError ? configurationError(path, error.messages) : error;
  }
}
