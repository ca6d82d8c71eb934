/**
 * The versions and resources that are served: `--runtime-config` with the rules of 1.24
 * (`staging/src/k8s.io/apiserver/pkg/server/resourceconfig`).
 */

import type { Dialect } from '#apimachinery/dialect.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import type { ResourceInfo } from '#apimachinery/schema/scheme.js';
import { OptionsError } from '#daemon/options/option.js';

/** Families of versions, in the order in which they are applied. */
const families: readonly (readonly [key: string, versions: RegExp])[] = [
  ['api/all', /^/],
  ['api/ga', /^v\d+$/],
  ['api/beta', /^v\d+beta\d+$/],
  ['api/alpha', /^v\d+alpha\d+$/],
];

const familyKeys: ReadonlySet<string> = new Set(families.map(([key]) => key));

/** Booleans as in Go; a key without a value is true. */
const on: ReadonlySet<string> = new Set(['', '1', 't', 'T', 'true', 'TRUE', 'True']);
const off: ReadonlySet<string> = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

export type RuntimeConfig = Readonly<Record<string, string>>;

interface Subject {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly resource: string | undefined;
}

/** Other forms of `/v1`; like 1.24, ignores the rest of the key. */
const coreForms = /^(api\/)?v1(\/|$)/;

/** `v1`, `/v1`, `api/v1`, `apps/v1` or `apps/v1/deployments`; undefined for anything else. */
function subjectOf(key: string): Subject | undefined {
  if (coreForms.test(key)) return { group: '', version: 'v1', resource: undefined };
  const parts = key.split('/');
  if (parts.length === 1) parts.unshift('');
  const [group = '', version = '', resource] = parts;
  if (parts.length > 3 || !/^[a-z0-9.-]*$/.test(group) || !/^[a-z0-9]+$/.test(version)) return undefined;
  if (group === '' && !/^v\d/.test(version)) return undefined;
  return resource === undefined || /^[a-z0-9]+$/.test(resource) ? { group, version, resource } : undefined;
}

/** The errors that do not depend on the served resources. */
export function runtimeConfigErrors(config: RuntimeConfig): string[] {
  if (config['api/all'] === 'false' && Object.keys(config).length === 1) return ['invalid key with only api/all=false'];
  const invalidKey = Object.keys(config).find((key) => !familyKeys.has(key) && subjectOf(key) === undefined);
  return invalidKey === undefined ? [] : [`runtime-config invalid key ${invalidKey}`];
}

/** The first invalid value. */
function valueError(config: RuntimeConfig): string | undefined {
  for (const [key, value] of Object.entries(config)) {
    if (familyKeys.has(key)) {
      if (value !== 'true' && value !== 'false') return `invalid value ${key}=${value}`;
    } else if (!on.has(value) && !off.has(value)) {
      return `invalid value of ${key}: ${value}, err: strconv.ParseBool: parsing ${quoted(value)}: invalid syntax`;
    }
  }
  return undefined;
}

/** Versions that have types but no resources: 1.24 accepts them, and its guides say to turn the first one on. */
export function versionsWithoutResources(dialect: Dialect): readonly string[] {
  const admission = ['v1', 'v1beta1'].map((version) => dialect.apiVersion('admission', version));
  return [dialect.imagePolicy.apiVersion, ...admission, 'extensions/v1beta1'];
}

/**
 * Returns whether a resource is served; `resources` are all existing ones. Versions are on unless they are alpha. Keys for families
 * of versions apply first, then keys for versions, then keys for resources. A resource with a feature gate needs only the gate;
 * 1.24 requires this option, too, so that turning on the gate alone has no effect. Throws OptionsError for unknown groups and
 * versions.
 */
export function apiEnablement(
  config: RuntimeConfig,
  resources: readonly ResourceInfo[],
  withoutResources: readonly string[] = [],
): (info: Pick<ResourceInfo, 'groupName' | 'declaration'>) => boolean {
  const own = resources.map(({ groupName, declaration }) => `${groupName}/${declaration.version}`);
  const versions = new Set([...own, ...withoutResources]);
  const groups = new Set([...versions].map((version) => version.slice(0, version.indexOf('/'))));
  const messages: string[] = [];
  const chosen = new Map<string, boolean>();
  for (const [key, value] of Object.entries(config)) {
    const subject = familyKeys.has(key) ? undefined : subjectOf(key);
    if (subject === undefined) continue;
    const { group, version, resource } = subject;
    if (!groups.has(group)) messages.push(`unknown api groups ${group}`);
    else if (!versions.has(`${group}/${version}`)) {
      const shown = group === '' ? version : `${group}/${version}`;
      messages.push(`group version ${shown} that has not been registered`);
    }
    chosen.set([group, version, ...(resource === undefined ? [] : [resource])].join('/'), on.has(value));
  }
  if (messages.length > 0) throw new OptionsError(messages);
  const invalidValue = valueError(config);
  if (invalidValue !== undefined) throw new OptionsError([invalidValue]);
  return ({ groupName, declaration: { version, resource, featureGate } }) =>
    chosen.get(`${groupName}/${version}/${resource}`) ??
    chosen.get(`${groupName}/${version}`) ??
    isFamilyOn(config, version, featureGate !== undefined);
}

function isFamilyOn(config: RuntimeConfig, version: string, gated: boolean): boolean {
  let isOn = gated || !/alpha/.test(version);
  for (const [key, versions] of families) {
    if (config[key] !== undefined && versions.test(version)) isOn = config[key] === 'true';
  }
  return isOn;
}
